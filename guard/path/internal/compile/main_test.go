package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestCurrent: the compiled regions are those of the data.
func TestCurrent(t *testing.T) {
	src, err := os.ReadFile("../../regions.toml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := compile(src)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../regions_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("regions_gen.go is not what regions.toml says: run go generate ./guard/path")
	}
}

func TestCompileRefuses(t *testing.T) {
	good := "[[region]]\nrole = \"scratch\"\nmatch = \"tree\"\nos = \"linux\"\npaths = [\"/tmp\"]\n"
	if _, err := compile([]byte(good)); err != nil {
		t.Fatalf("the control case does not compile: %v", err)
	}
	for _, tt := range []struct{ name, old, new string }{
		{"unknown key", "os =", "system ="},
		{"unknown role", "scratch", "scratchy"},
		{"unknown match", "tree", "glob"},
		{"unknown system", "linux", "plan9"},
		{"relative path", "/tmp", "tmp"},
		{"absolute segment", "tree", "segment"},
		{"twice", `"/tmp"`, `"/tmp", "/tmp"`},
		{"trailing slash", "/tmp", "/tmp/"},
		{"empty path", "/tmp", ""},
		{"no TOML", "[[region]]", "[["},
	} {
		if _, err := compile([]byte(strings.Replace(good, tt.old, tt.new, 1))); err == nil {
			t.Errorf("%s: compiled", tt.name)
		}
	}
}

package overlays_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wrapexec/wrap/overlays"
	"github.com/wrapexec/wrap/overlays/decode"
	"github.com/wrapexec/wrap/overlays/internal/gen"
)

// described reads every TOML file of this directory.
func described(t *testing.T) []*overlays.Overlay {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var list []*overlays.Overlay
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".toml") {
			continue
		}
		text, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		o, err := decode.Overlay(e.Name(), text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	if len(list) < 17 {
		t.Fatalf("%d descriptions were read, want those of 17 tools at least", len(list))
	}
	return list
}

// TestCompiledIsCurrent: compiled.go is what the generator makes of the TOML.
func TestCompiledIsCurrent(t *testing.T) {
	want, err := gen.Source(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("compiled.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("compiled.go is not what the TOML files say: run go generate ./overlays")
	}
}

// TestCompiledIsWhatDecodeReads: nothing but the examples is lost on the way.
func TestCompiledIsWhatDecodeReads(t *testing.T) {
	want := described(t)
	got := overlays.All()
	if len(got) != len(want) {
		t.Fatalf("%d overlays are compiled, %d described", len(got), len(want))
	}
	for i := range want {
		want[i].Examples = nil
		if diff := cmp.Diff(want[i], got[i]); diff != "" {
			t.Errorf("%s: described and compiled differ (-want +got):\n%s", want[i].Tool, diff)
		}
	}
}

func TestLookup(t *testing.T) {
	var tools []string
	for _, o := range overlays.All() {
		if got := overlays.Lookup(o.Tool); !slices.Contains(got, o) {
			t.Errorf("Lookup(%q) = %v, without its %s variant", o.Tool, got, o.Variant)
		}
		tools = append(tools, o.Tool)
	}
	for _, tool := range []string{"cat", "cp", "file", "find", "git", "grep", "head", "ls", "mkdir", "mv", "rm", "sort", "stat", "tail", "tee", "touch", "wc"} {
		if !slices.Contains(tools, tool) {
			t.Errorf("%s has no overlay", tool)
		}
	}
	for _, tool := range []string{"", "no-such-tool", "cat ", "/usr/bin/cat", "CAT"} {
		if got := overlays.Lookup(tool); got != nil {
			t.Errorf("Lookup(%q) = %v, want nil", tool, got)
		}
	}
}

// TestSaysEverything: what the schema leaves optional and a description of ours
// must have.
func TestSaysEverything(t *testing.T) {
	for _, o := range described(t) {
		if o.Versions == "" || o.Source.Package == "" || o.Source.Version == "" || o.Source.On == "" || len(o.Source.Read) == 0 {
			t.Errorf("%s: versions or source is missing: %q %+v", o.Tool, o.Versions, o.Source)
		}
		if !overlays.InVersions(o.Versions, o.Source.Version) {
			t.Errorf("%s: the version that was read, %s, is not in %s", o.Tool, o.Source.Version, o.Versions)
		}
		if len(o.Examples) == 0 || o.Command.Summary == "" || len(o.Command.Exits) == 0 {
			t.Errorf("%s: examples, summary or exits are missing", o.Tool)
		}
		for _, f := range o.Command.Flags {
			if f.Doc == "" {
				t.Errorf("%s: flag %v has no doc", o.Tool, f.Names)
			}
		}
	}
}

func TestMatch(t *testing.T) {
	gnu := &overlays.Overlay{Probe: overlays.Probe{Contains: "sort (GNU coreutils)"}, Versions: ">=9.1,<9.2"}
	file := &overlays.Overlay{Probe: overlays.Probe{Contains: "magic file from", After: "file-"}, Versions: ">=5.44,<5.45"}
	for _, tt := range []struct {
		name    string
		o       *overlays.Overlay
		out     string
		version string
		ok      bool
		sure    bool
	}{
		{"match", gnu, "sort (GNU coreutils) 9.1\nCopyright\n", "9.1", true, true},
		{"patch level", gnu, "sort (GNU coreutils) 9.1.2\n", "9.1.2", true, true},
		{"suffix", gnu, "sort (GNU coreutils) 9.1-rc2\n", "9.1", true, true},
		{"newer", gnu, "sort (GNU coreutils) 9.10\n", "9.10", true, false},
		{"older", gnu, "sort (GNU coreutils) 8.32\n", "8.32", true, false},
		{"no version", gnu, "sort (GNU coreutils)\n9.1\n", "", true, false},
		{"other tool of the family", gnu, "cat (GNU coreutils) 9.1\n", "", false, false},
		{"other family", gnu, "sort (uutils coreutils) 9.1\n", "", false, false},
		{"nothing", gnu, "", "", false, false},
		{"after", file, "file-5.44\nmagic file from /etc/magic 1.2\n", "5.44", true, true},
		{"after is missing", file, "magic file from /etc/magic 5.44\n", "", true, false},
		{"no probe", &overlays.Overlay{}, "sort (GNU coreutils) 9.1\n", "", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			version, ok, sure := tt.o.Match([]byte(tt.out))
			if version != tt.version || ok != tt.ok || sure != tt.sure {
				t.Errorf("Match(%q) = %q, %v, %v, want %q, %v, %v", tt.out, version, ok, sure, tt.version, tt.ok, tt.sure)
			}
		})
	}
}

func TestInVersions(t *testing.T) {
	for _, tt := range []struct {
		versions, version string
		want              bool
	}{
		{">=9.1,<9.2", "9.1", true},
		{">=9.1,<9.2", "9.1.99", true},
		{">=9.1,<9.2", "9.2", false},
		{">=9.1,<9.2", "9.0.9", false},
		{">=9.1", "10", true},
		{"<9.1", "9.1.0", false},
		{"<=9.1", "9.1.0", true},
		{">9.1", "9.1.0", false},
		{"=9.1", "9.1.0", true},
		{"=9.1", "9.1.1", false},
		{"", "9.1", false},
		{">=9.1", "", false},
		{">=9.1", "9.x", false},
		{"9.1", "9.1", false},
		{"*", "9.1", false},
		{">=9.1,", "9.1", false},
		{"=>9.1", "9.1", false},
		{">= 9.1", "9.1", false},
		{">=99999999999999999999", "9.1", false},
	} {
		if got := overlays.InVersions(tt.versions, tt.version); got != tt.want {
			t.Errorf("InVersions(%q, %q) = %v, want %v", tt.versions, tt.version, got, tt.want)
		}
	}
}

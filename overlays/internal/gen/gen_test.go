package gen

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"
)

const tool = "tool = \"a-b\"\nvariant = \"gnu\"\nprobe = { args = [\"--version\"], contains = \"a\" }\n"

func TestSource(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	other := strings.Replace(tool, `"gnu"`, `"bsd"`, 1)
	for _, tt := range []struct {
		name  string
		files fstest.MapFS
		want  []string // parts of the text, or of the error
		err   bool
	}{
		{"two variants", fstest.MapFS{"a-b@gnu.toml": file(tool), "a-b@bsd.toml": file(other)}, []string{
			"var all = [...]*Overlay{&a_bBsd, &a_bGnu}", "case \"a-b\":\n\t\treturn all[0:2:2]", "var a_bBsd = Overlay{", "var a_bGnu = Overlay{",
		}, false},
		{"bits have names", fstest.MapFS{"a-b@gnu.toml": file(tool + `flags = [{ names = ["-x"], value = "path", face = "write+rebind", effect = "remove+attr", needs = ["long"] }]`)}, []string{
			"Face: argv.Write | argv.Rebind, Effect: argv.Remove | argv.Attr", "Needs: argv.NeedLong",
		}, false},
		{"no example", fstest.MapFS{"a-b@gnu.toml": file(tool + "[[example]]\nrun = [\"a-b\"]\n")}, []string{"package overlays"}, false},
		{"wrong name", fstest.MapFS{"a@gnu.toml": file(tool)}, []string{"a@gnu.toml describes a-b@gnu.toml"}, true},
		{"fault", fstest.MapFS{"a-b@gnu.toml": file(tool + "x = 1")}, []string{"a-b@gnu.toml:4: unknown key x"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Source(tt.files)
			text := string(got)
			if (err != nil) != tt.err {
				t.Fatalf("Source: %v", err)
			}
			if err != nil {
				text = err.Error()
			}
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("Source gave %s\nwithout %q", text, want)
				}
			}
			if strings.Contains(text, "Example") {
				t.Errorf("examples are compiled:\n%s", text)
			}
			if again, _ := Source(tt.files); !bytes.Equal(got, again) {
				t.Error("a second run gives another text")
			}
		})
	}
}

package decode_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/overlays"
	"github.com/wrapexec/wrap/overlays/decode"
)

// whole uses every key there is.
const whole = `tool = "any"
variant = "gnu"
summary = "Do anything"
readonly = "per-call"
probe = { args = ["--version"], contains = "any (GNU", after = "any" }
profiles = ["base"]
runs = ["/usr/lib/any/*"]
versions = ">=1.0,<2"
source = { package = "any", version = "1.1", read = ["man"], on = "2026-12-01" }
env = { pass = ["P"], fixed = { B = "2", A = "1" }, steering = ["S_*"] }
exit = { 10 = "error", 0 = "ok", 1 = "answer" }
dashes = "lines"
digits = "head"
forced = ["--quiet"]
needs = ["net", "attr"]
health = "spawn"
destructive = true
idempotent = true
open_world = true
requires_approval = true
use = ["common"]
flags = [
  { names = ["-n", "--lines"], value = "integer", placeholder = "N", doc = "Lines", rank = 2 },
  { names = ["--both"], value = "enum", of = ["a", "b"], optional_value = "all", repeat = true, excludes = ["lines"], requires = ["color"] },
  { names = ["-o"], key = "out", value = "path", face = "write+rebind", effect = "overwrite+tree", dash = "stdout", names_from = "sources" },
  { names = ["-m"], value = "path", face = "read", lists = "read", sep = ":", recursive = true, rebases = true, needs = ["program"], changes = { "in more" = { value = "path", face = "rebind", effect = "remove", recursive = true, plain = true, default = "." }, out = { drop = true } } },
]
operands = [{ key = "in", doc = "Input", value = "rev", face = "read", optional = true, default = "." }, { key = "more", value = "path", face = "read", repeat = true, after_dashes = true }]
implicit = [{ key = "tree", value = "path", face = "read", default = "/" }]

[set.common]
flags = [{ names = ["-c", "--color"], value = "string", optional_value = "long" }]

[[example]]
setup = [["true"]]
run = ["any", "x"]
files = { b = "", a = "text" }
faces = { x = "read", y = "read+write+rebind+exec" }
`

func TestOverlay(t *testing.T) {
	_, err := decode.Overlay("any.toml", []byte(whole))
	// A flag that drops the value of another is a fault: the rest is right.
	if err == nil || err.Error() != `any.toml: any: flag -m drops "out", which is no operand` {
		t.Fatalf("error %v", err)
	}
	got, err := decode.Overlay("any.toml", []byte(strings.Replace(whole, ", out = { drop = true }", "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	path, read := argv.Path, argv.Read
	want := &overlays.Overlay{
		Tool: "any", Variant: "gnu",
		Probe:    overlays.Probe{Args: []string{"--version"}, Contains: "any (GNU", After: "any"},
		Profiles: []string{"base"}, Runs: []string{"/usr/lib/any/*"}, Versions: ">=1.0,<2",
		Env:    overlays.Env{Pass: []string{"P"}, Fixed: []string{"A=1", "B=2"}, Steering: []string{"S_*"}},
		Source: overlays.Source{Package: "any", Version: "1.1", Read: []string{"man"}, On: "2026-12-01"},
		Command: argv.Command{
			Name: "any", Module: "any", Summary: "Do anything", Access: argv.PerCall, Dashes: "lines", Digits: argv.DigitsHead,
			Flags: []argv.Flag{
				{Names: []string{"-n", "--lines"}, Doc: "Lines", Rank: 2, Values: []argv.Value{{Kind: argv.Integer, Name: "N"}}},
				{
					Names: []string{"--both"}, Values: []argv.Value{{Kind: argv.Enum, Of: []string{"a", "b"}}},
					Optional: true, Repeat: true, Excludes: []string{"lines"}, Requires: []string{"color"},
				},
				{Names: []string{"-o"}, Key: "out", Values: []argv.Value{{
					Kind: path, Face: argv.Write | argv.Rebind, Effect: argv.Overwrite | argv.Tree, Dash: "stdout", Names: "sources",
				}}},
				{
					Names: []string{"-m"}, Values: []argv.Value{{Kind: path, Face: read, Lists: read, Sep: ":", Recursive: true, Rebases: true}},
					Needs: argv.NeedProgram,
					Changes: []argv.Change{
						{Slot: "in", Kind: path, Face: argv.Rebind, Effect: argv.Remove, Recursive: true, Plain: true, Default: "."},
						{Slot: "more", Kind: path, Face: argv.Rebind, Effect: argv.Remove, Recursive: true, Plain: true, Default: "."},
					},
				},
				{Names: []string{"-c", "--color"}, Values: []argv.Value{{Kind: argv.String}}, OptionalLong: true},
			},
			Slots: []argv.Slot{
				{Key: "in", Doc: "Input", Value: argv.Value{Kind: argv.Rev, Face: read}, Optional: true, Default: "."},
				{Key: "more", Value: argv.Value{Kind: path, Face: read}, Repeat: true, AfterDashes: true},
			},
			Implicit: []argv.Slot{{Key: "tree", Value: argv.Value{Kind: path, Face: read}, Default: "/"}},
			Exits:    []argv.Exit{{Code: 0, Mean: "ok"}, {Code: 1, Mean: "answer"}, {Code: 10, Mean: "error"}},
			Needs:    argv.NeedNet | argv.NeedAttr, Forced: []string{"--quiet"}, Health: "spawn",
			Destructive: true, Idempotent: true, OpenWorld: true, Approval: true,
		},
		Examples: []overlays.Example{{
			Run: []string{"any", "x"}, Setup: [][]string{{"true"}},
			Files: []overlays.File{{Path: "a", Content: "text"}, {Path: "b"}},
			Faces: []overlays.FaceOf{{Path: "x", Face: read}, {Path: "y", Face: argv.Read | argv.Write | argv.Rebind | argv.Exec}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Overlay (-want +got):\n%s", diff)
	}
}

func TestModules(t *testing.T) {
	o, err := decode.Overlay("git.toml", []byte(`tool = "git"
variant = "git"
probe = { args = ["--version"], contains = "git" }
grammar = "ordered"
[set.diff]
flags = [{ names = ["--stat"] }]
[module.show]
grammar = "git"
readonly = "always"
use = ["diff"]
[module.log]
grammar = "git"
use = ["diff"]
flags = [{ names = ["--all"] }]
`))
	if err != nil {
		t.Fatal(err)
	}
	subs := o.Command.Subs
	if len(subs) != 2 || subs[0].Module != "git.log" || subs[1].Module != "git.show" || subs[1].Access != argv.Always || o.Command.Grammar != argv.Ordered {
		t.Fatalf("modules are %+v", subs)
	}
	if len(subs[0].Flags) != 2 || subs[0].Flags[1].Names[0] != "--stat" || len(subs[1].Flags) != 1 || subs[0].Grammar != argv.Git {
		t.Errorf("a set is not shared: %+v, %+v", subs[0].Flags, subs[1].Flags)
	}
}

func TestFaults(t *testing.T) {
	head := "tool = \"any\"\nvariant = \"gnu\"\nprobe = { args = [\"--version\"], contains = \"any\" }\n"
	flag := func(s string) string { return head + "flags = [{ names = [\"-x\"], " + s + " }]\n" }
	for _, tt := range []struct {
		name, text, want string
		line             int
	}{
		{"control", head, "", 0},
		{"unknown key", head + "flag = 1\n", "unknown key flag", 4},
		{"unknown key of a flag", head + "flags = [\n  { names = [\"-x\"] },\n  { names = [\"-y\"], arity = 1 },\n]\n", "unknown key arity", 6},
		{"unknown key of a module", head + "[module.a]\nx = 1\n", "unknown key module.a.x", 5},
		{"syntax", head + "flags = [\n", "", 4},
		{"wrong type", head + "flags = 1\n", "", 4},
		{"key twice", head + "tool = \"any\"\n", "", 4},
		{"nothing", "", "tool must be a bare command name", 0},
		{"tool with a slash", strings.Replace(head, `"any"`, `"a/b"`, 1), "tool must be a bare command name", 0},
		{"no probe", "tool = \"any\"\nvariant = \"gnu\"\n", "probe must have args and contains", 0},
		{"range", head + "versions = \"9.x\"\n", `versions "9.x" is no range`, 0},
		{"range with blanks", head + "versions = \">= 9\"\n", "is no range", 0},
		{"relative program", head + "runs = [\"lib/*\"]\n", `runs "lib/*" must be absolute`, 0},
		{"grammar", head + "grammar = \"posix\"\n", `any: grammar "posix" is not known`, 0},
		{"exit code", head + "exit = { 256 = \"ok\" }\n", `exit code "256" is none`, 0},
		{"exit meaning", head + "exit = { 1 = \"bad\" }\n", `exit code 1 cannot mean "bad"`, 0},
		{"health", head + "health = \"good\"\n", `health "good" is not known`, 0},
		{"need", head + "needs = [\"luck\"]\n", `needs "luck" is not known`, 0},
		{"readonly", head + "readonly = \"no\"\n", `access "no" is not known`, 0},
		{"set", head + "use = [\"x\"]\n", `there is no set "x"`, 0},
		{"kind", flag(`value = "url"`), `kind "url" is not known`, 0},
		{"face", flag(`value = "path", face = "append"`), `face "append" is not known`, 0},
		{"no face", flag(`value = "path"`), "needs a face", 0},
		{"write without effect", flag(`value = "path", face = "write"`), `face "write" with effect ""`, 0},
		{"effect without write", flag(`value = "path", face = "read", effect = "remove"`), `face "read" with effect "remove"`, 0},
		{"effect", flag(`value = "path", face = "write", effect = "append"`), `effect "append" is not known`, 0},
		{"face of no value", flag(`face = "read"`), "describes a value and has none", 0},
		{"optional", flag(`value = "string", optional_value = "yes"`), `optional_value "yes" is not known`, 0},
		{"value and values", flag(`value = "string", values = [{ value = "string" }]`), "value or values, not both", 0},
		{"empty change", flag(`changes = { x = {} }`), "changes x in nothing", 0},
		{"change of nothing", flag(`changes = { y = { recursive = true } }`), `unknown operand "y"`, 0},
		{"flag twice", head + "flags = [{ names = [\"-x\"] }, { names = [\"-x\"], key = \"y\" }]\n", `the spelling "-x" is there twice`, 0},
		{"example without run", head + "[[example]]\nfaces = {}\n", "an example has no run", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := decode.Overlay("any.toml", []byte(tt.text))
			if tt.name == "control" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var e *decode.Error
			if o != nil || !errors.As(err, &e) {
				t.Fatalf("Overlay = %v, %v, want an *Error", o, err)
			}
			if e.File != "any.toml" || e.Line != tt.line || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q (line %d), want %q in line %d", err, e.Line, tt.want, tt.line)
			}
		})
	}
}

// TestWords: every word of the sets means the bit that it names.
func TestWords(t *testing.T) {
	value := func(face, effect string) string {
		return "tool = \"any\"\nvariant = \"gnu\"\nprobe = { args = [\"--version\"], contains = \"any\" }\n" +
			"flags = [{ names = [\"-x\"], value = \"path\", face = \"" + face + "\", effect = \"" + effect + "\" }]\n"
	}
	for word, want := range map[string]argv.Effect{
		"overwrite": argv.Overwrite, "replace": argv.Replace, "makedir": argv.MakeDir, "makelink": argv.MakeLink,
		"hardlink": argv.HardLink, "remove": argv.Remove, "tree": argv.Tree, "attr": argv.Attr,
	} {
		o, err := decode.Overlay("any.toml", []byte(value("write", word)))
		if err != nil || o.Command.Flags[0].Values[0].Effect != want {
			t.Errorf("effect %q: %v, %v, want %v", word, o, err, want)
		}
	}
	for word, want := range map[string]argv.Need{
		"attr": argv.NeedAttr, "net": argv.NeedNet, "program": argv.NeedProgram, "long": argv.NeedLong,
	} {
		o, err := decode.Overlay("any.toml", []byte(strings.Replace(value("write", "attr"), "flags", "needs = [\""+word+"\"]\nflags", 1)))
		if err != nil || o.Command.Needs != want {
			t.Errorf("need %q: %v, %v, want %v", word, o, err, want)
		}
	}
	for word, want := range map[string]argv.Grammar{"gnu": argv.GNU, "ordered": argv.Ordered, "find": argv.Find, "git": argv.Git} {
		o, err := decode.Overlay("any.toml", []byte(strings.Replace(value("write", "attr"), "flags", "grammar = \""+word+"\"\nflags", 1)))
		if err != nil || o.Command.Grammar != want {
			t.Errorf("grammar %q: %v, %v, want %v", word, o, err, want)
		}
	}
	for word, want := range map[string]argv.Digits{"whole": argv.DigitsWhole, "cluster": argv.DigitsCluster, "head": argv.DigitsHead, "tail": argv.DigitsTail} {
		text := strings.Replace(value("write", "attr"), "value", "value = \"path\", key = \"x\", placeholder", 1)
		text = strings.Replace(text, "placeholder = \"path\"", "placeholder = \"F\"", 1)
		o, err := decode.Overlay("any.toml", []byte(strings.Replace(text, "flags", "dashes = \"x\"\ndigits = \""+word+"\"\nflags", 1)))
		if err != nil || o.Command.Digits != want {
			t.Errorf("digits %q: %v, %v, want %v", word, o, err, want)
		}
	}
}

// FuzzOverlay: whatever the text, there is an overlay that Check accepts or an
// *Error, and no panic.
func FuzzOverlay(f *testing.F) {
	f.Add([]byte(whole))
	names, err := filepath.Glob("../*.toml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := decode.Overlay("fuzz.toml", text)
		var e *decode.Error
		switch {
		case err == nil && o.Command.Check() != nil:
			t.Errorf("accepted: %v", o.Command.Check())
		case err != nil && (!errors.As(err, &e) || o != nil):
			t.Errorf("Overlay = %v, %v", o, err)
		}
	})
}

package argv

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	str, path := Value{Kind: String}, Value{Kind: Path, Face: Read}
	with := func(change func(*Command)) *Command {
		c := anyTool([]Slot{operand("file", path)}, valued(str, "-a", "--all"))
		change(c)
		return c
	}
	for _, tt := range []struct {
		name   string
		change func(*Command)
		want   string // "" is the control
	}{
		{"control", func(*Command) {}, ""},
		{"no name", func(c *Command) { c.Name = "" }, "any: name and module must be set"},
		{"access", func(c *Command) { c.Access = "sometimes" }, `any: access "sometimes" is not known`},
		{"grammar", func(c *Command) { c.Grammar = 9 }, "any: grammar 9 or digits 0 is not known"},
		{"spelling twice", func(c *Command) { c.Flags = append(c.Flags, keyed("b", flag("-a"))) }, `any: the spelling "-a" is there twice`},
		{"key twice", func(c *Command) { c.Flags = append(c.Flags, flag("--a-b"), flag("--a_b")) }, `any: flag --a_b: the key "a_b" is taken`},
		{"key of an operand", func(c *Command) { c.Flags = append(c.Flags, flag("--file")) }, `any: operand 0: the key "file" is taken`},
		{"key of an operand, displaced", func(c *Command) { c.Flags = append(c.Flags, keyed("file_option", flag("--file"))) }, ""},
		{"no key", func(c *Command) { c.Slots[0].Key = "" }, "any: operand 0 has no key"},
		{"key of the parent", func(c *Command) {
			c.Slots, c.Subs = nil, []Command{{Name: "s", Module: "any.s", Flags: []Flag{flag("--all")}}}
		}, `any.s: flag --all: the key "all" is taken`},
		{"subcommand twice", func(c *Command) {
			c.Slots, c.Subs = nil, []Command{{Name: "s", Module: "any.s"}, {Name: "s", Module: "any.t"}}
		}, `any: subcommand "s" is there twice`},
		{"subcommands and operands", func(c *Command) { c.Subs = []Command{{Name: "s", Module: "any.s"}} }, "any: a command with subcommands has no operands of its own"},
		{"excludes nothing", func(c *Command) { c.Flags[0].Excludes = []string{"x"} }, `any: flag --all names the unknown parameter "x"`},
		{"requires nothing", func(c *Command) { c.Flags[0].Requires = []string{"x"} }, `any: flag --all names the unknown parameter "x"`},
		{"changes nothing", func(c *Command) { c.Flags[0].Changes = []Change{{Slot: "x"}} }, `any: flag --all changes the unknown operand "x"`},
		{"changes an implicit one", func(c *Command) {
			c.Implicit = []Slot{{Key: "x", Default: ".", Value: path}}
			c.Flags[0].Changes = []Change{{Slot: "x", Recursive: true}}
		}, ""},
		{"drops a flag", func(c *Command) { c.Flags[0].Changes = []Change{{Slot: "all", Drop: true}} }, `any: flag --all drops "all", which is no operand`},
		{"two repeat", func(c *Command) {
			c.Slots[0].Repeat = true
			c.Slots = append(c.Slots, Slot{Key: "b", Value: path, Repeat: true})
		}, "any: operands file and b both repeat"},
		{"two repeat, one behind --", func(c *Command) {
			c.Slots[0].Repeat = true
			c.Slots = append(c.Slots, Slot{Key: "b", Value: path, Repeat: true, AfterDashes: true})
		}, ""},
		{"required behind optional", func(c *Command) {
			c.Slots[0].Optional = true
			c.Slots = append(c.Slots, operand("b", path))
		}, "any: operand b is required behind the optional file"},
		{"optional behind repeat", func(c *Command) {
			c.Slots[0].Repeat = true
			c.Slots = append(c.Slots, Slot{Key: "b", Value: path, Optional: true})
		}, "any: operand b is optional behind one that repeats"},
		{"default of a required one", func(c *Command) { c.Slots[0].Default = "." }, "any: operand file is required and has a default"},
		{"behind --", func(c *Command) {
			c.Slots[0].AfterDashes = true
			c.Slots = append(c.Slots, operand("b", path))
		}, "any: operand b stands behind one that needs --"},
		{"path without face", func(c *Command) { c.Slots[0].Value.Face = 0 }, "any: operand file: a path needs a face"},
		{"flag's path without face", func(c *Command) { c.Flags[0].Values[0].Kind = Path }, "any: flag --all: a path needs a face"},
		{"revision without face", func(c *Command) { c.Slots[0].Value = Value{Kind: Rev} }, "any: operand file: a rev needs a face"},
		{"string with face", func(c *Command) { c.Flags[0].Values[0].Face = Write }, "any: flag --all: only a path has a face and what goes with it"},
		{"unknown kind", func(c *Command) { c.Flags[0].Values[0].Kind = "url" }, `any: flag --all: kind "url" is not known`},
		{"no kind", func(c *Command) { c.Flags[0].Values[0].Kind = None }, "any: flag --all: value 0 has no kind"},
		{"enum without words", func(c *Command) { c.Flags[0].Values[0].Kind = Enum }, "any: flag --all: an enum, and nothing else, has words"},
		{"words without enum", func(c *Command) { c.Flags[0].Values[0].Of = []string{"a"} }, "any: flag --all: an enum, and nothing else, has words"},
		{"dash", func(c *Command) { c.Slots[0].Value.Dash = "tty" }, `any: operand file: dash "tty" is not known`},
		{"names", func(c *Command) { c.Slots[0].Value.Names = "content" }, `any: operand file: names "content" is not known`},
		{"unknown bits", func(c *Command) { c.Slots[0].Value.Face = 128 }, "any: operand file: unknown bits in face or effect"},
		{"no spelling", func(c *Command) { c.Flags[0].Names = []string{"all"} }, `any: "all" is no spelling of a flag`},
		{"spelling with =", func(c *Command) { c.Flags[0].Names = []string{"--a=b"} }, `any: "--a=b" is no spelling of a flag`},
		{"one dash", func(c *Command) { c.Flags[0].Names = []string{"-all"} }, `any: "-all" is no spelling of a flag`},
		{"flag without name", func(c *Command) { c.Flags = append(c.Flags, keyed("k", Flag{})) }, "any: a flag has no name"},
		{"optional nothing", func(c *Command) { c.Flags = append(c.Flags, optional(flag("-x"))) }, "any: flag -x: an optional value must be one"},
		{"optional in long without long", func(c *Command) {
			f := valued(str, "-x")
			f.OptionalLong = true
			c.Flags = append(c.Flags, f)
		}, "any: flag -x has no long spelling for its optional value"},
		{"inner command outside find", func(c *Command) { c.Flags = append(c.Flags, Flag{Names: []string{"-x"}, Until: []string{";"}}) }, "any: flag -x: an inner command is for find alone, and is all that the flag takes"},
		{"two values outside find", func(c *Command) { c.Flags[0].Values = []Value{str, str} }, "any: flag --all: only find has flags with more than one value"},
		{"dashes", func(c *Command) { c.Dashes = "x" }, `any: dashes: no flag with one value has the key "x"`},
		{"digits", func(c *Command) { c.Digits = DigitsHead }, "any: digits without dashes"},
		{"forced", func(c *Command) { c.Forced = []string{"x"} }, `any: forced "x" is no flag`},
		{"forced with a value", func(c *Command) { c.Forced = []string{"--all"} }, `any: forced "--all" needs a value`},
		{"implicit without a name", func(c *Command) { c.Implicit = []Slot{operand("x", path)} }, `any: implicit operand "x" has no default`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := with(tt.change).Check(); err != nil {
				got = err.Error()
			}
			if got != tt.want && !strings.HasPrefix(got, tt.want+"\n") || tt.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

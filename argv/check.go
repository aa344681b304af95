package argv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Check reports everything that makes c, or a subcommand of it, a description
// that Parse and Render cannot follow or that leaves a file unjudged. It is for
// who loads or generates descriptions: Parse and Render rely on it and do not
// call it. It does not know whether the description is true.
func (c *Command) Check() error {
	var k checker
	k.command(c, nil)
	return errors.Join(k.errs...)
}

type checker struct {
	errs []error
	in   string
}

func (k *checker) add(format string, args ...any) {
	k.errs = append(k.errs, fmt.Errorf("%s: %s", k.in, fmt.Sprintf(format, args...)))
}

// command checks c, whose parents have the given keys.
func (k *checker) command(c *Command, parents []string) {
	k.in = c.Module
	if c.Name == "" || c.Module == "" {
		k.add("name and module must be set")
	}
	if !slices.Contains([]Access{AccessUnknown, Always, PerCall, Never}, c.Access) {
		k.add("access %q is not known", c.Access)
	}
	if c.Grammar > Git || c.Digits > DigitsTail {
		k.add("grammar %d or digits %d is not known", c.Grammar, c.Digits)
	}
	if len(c.Subs) > 0 && len(c.Slots) > 0 {
		k.add("a command with subcommands has no operands of its own")
	}
	if len(c.Subs) > 0 && c.Grammar == Find {
		k.add("grammar find has no subcommands")
	}
	keys := k.keys(c, parents)
	known := slices.Clone(keys)
	for i := range c.Implicit {
		known = append(known, c.Implicit[i].Key)
	}
	k.spellings(c)
	for i := range c.Flags {
		k.flag(c, &c.Flags[i], known)
	}
	k.slots(c)
	for i := range c.Implicit {
		s := &c.Implicit[i]
		if s.Default == "" {
			k.add("implicit operand %q has no default", s.Key)
		}
		k.value("implicit operand "+s.Key, &s.Value)
	}
	if c.Dashes != "" && !slices.ContainsFunc(c.Flags, func(f Flag) bool { return ParamKey(&f) == c.Dashes && len(f.Values) == 1 }) {
		k.add("dashes: no flag with one value has the key %q", c.Dashes)
	}
	if c.Dashes == "" && c.Digits != DigitsWhole {
		k.add("digits without dashes")
	}
	for _, t := range c.Forced {
		if len(t) < 2 || t[0] != '-' || t == "--" {
			k.add("forced %q is no flag", t)
		}
		if f, name := exact(c, t); f != nil && takes(f, name) && !mayLack(f, name) {
			k.add("forced %q needs a value", t)
		}
	}
	var names []string
	for i := range c.Subs {
		k.in = c.Module
		if slices.Contains(names, c.Subs[i].Name) {
			k.add("subcommand %q is there twice", c.Subs[i].Name)
		}
		names = append(names, c.Subs[i].Name)
		k.command(&c.Subs[i], keys)
	}
}

// keys returns the parameters of c and its parents; each must be there once.
func (k *checker) keys(c *Command, parents []string) []string {
	keys := slices.Clone(parents)
	add := func(what, key string) {
		switch {
		case key == "":
			k.add("%s has no key", what)
		case slices.Contains(keys, key):
			k.add("%s: the key %q is taken", what, key)
		}
		keys = append(keys, key)
	}
	for i := range c.Flags {
		add("flag "+spelling(&c.Flags[i]), ParamKey(&c.Flags[i]))
	}
	for i := range c.Slots {
		add(fmt.Sprintf("operand %d", i), c.Slots[i].Key)
	}
	return keys
}

func (k *checker) spellings(c *Command) {
	seen := map[string]bool{}
	for _, n := range spellings(c) {
		if seen[n] {
			k.add("the spelling %q is there twice", n)
		}
		seen[n] = true
		operator := c.Grammar == Find && slices.Contains([]string{"(", ")", "!", ","}, n)
		short := len(n) == 2 && n[0] == '-' && n[1] != '-'
		long := len(n) > 2 && isLong(n) || c.Grammar == Find && len(n) > 2 && n[0] == '-'
		if !operator && !short && !long || strings.ContainsAny(n, "= \t\n\x00") {
			k.add("%q is no spelling of a flag", n)
		}
	}
}

func (k *checker) flag(c *Command, f *Flag, keys []string) {
	name := spelling(f)
	if len(f.Names) == 0 {
		k.add("a flag has no name")
	}
	for i := range f.Values {
		if f.Values[i].Kind == None {
			k.add("flag %s: value %d has no kind", name, i)
		}
		k.value("flag "+name, &f.Values[i])
	}
	switch {
	case len(f.Until) > 0 && (c.Grammar != Find || len(f.Values) > 0):
		k.add("flag %s: an inner command is for find alone, and is all that the flag takes", name)
	case (f.Optional || f.OptionalLong) && len(f.Values) != 1:
		k.add("flag %s: an optional value must be one", name)
	case f.Optional && f.OptionalLong:
		k.add("flag %s: optional in all spellings or in the long ones", name)
	case f.OptionalLong && !isLong(name):
		k.add("flag %s has no long spelling for its optional value", name)
	case c.Grammar == Find && f.Optional && name != "-O":
		k.add("flag %s: find has no optional values", name)
	case len(f.Values) > 1 && c.Grammar != Find:
		k.add("flag %s: only find has flags with more than one value", name)
	}
	for _, t := range f.Until {
		if t != ";" && t != "+" {
			k.add("flag %s: %q ends no command", name, t)
		}
	}
	for _, list := range [][]string{f.Excludes, f.Requires} {
		for _, key := range list {
			if !slices.Contains(keys, key) {
				k.add("flag %s names the unknown parameter %q", name, key)
			}
		}
	}
	for i := range f.Changes {
		ch := &f.Changes[i]
		// A command's own flags may change what its subcommands' operands are.
		if !slices.Contains(keys, ch.Slot) && len(c.Subs) == 0 {
			k.add("flag %s changes the unknown operand %q", name, ch.Slot)
		}
		if ch.Drop && len(c.Subs) == 0 && !slices.ContainsFunc(c.Slots, func(s Slot) bool { return s.Key == ch.Slot }) {
			k.add("flag %s drops %q, which is no operand", name, ch.Slot)
		}
		if ch.Kind != None && ch.Kind != Path && ch.Kind != Rev && ch.Face == 0 {
			k.add("flag %s: only a path or a revision may come of a change", name)
		}
	}
}

func (k *checker) slots(c *Command) {
	var repeat, optional string
	after := false
	for i := range c.Slots {
		s := &c.Slots[i]
		k.value("operand "+s.Key, &s.Value)
		switch {
		case s.AfterDashes && !after:
			after, repeat, optional = true, "", ""
		case !s.AfterDashes && after:
			k.add("operand %s stands behind one that needs --", s.Key)
		}
		switch {
		case s.AfterDashes && c.Grammar != GNU && c.Grammar != Git:
			k.add("operand %s: this grammar has nothing behind --", s.Key)
		case s.Repeat && repeat != "":
			k.add("operands %s and %s both repeat", repeat, s.Key)
		case s.Optional && repeat != "":
			k.add("operand %s is optional behind one that repeats", s.Key)
		case !s.Optional && optional != "":
			k.add("operand %s is required behind the optional %s", s.Key, optional)
		case s.Default != "" && !s.Optional:
			k.add("operand %s is required and has a default", s.Key)
		}
		if s.Value.Kind == None {
			k.add("operand %s has no kind", s.Key)
		}
		if s.Repeat {
			repeat = s.Key
		}
		if s.Optional {
			optional = s.Key
		}
	}
}

func (k *checker) value(of string, v *Value) {
	path := v.Kind == Path || v.Kind == Rev
	switch {
	case !slices.Contains([]Kind{None, String, Integer, Number, Enum, Path, Program, Pattern, Rev, Config}, v.Kind):
		k.add("%s: kind %q is not known", of, v.Kind)
	case path && v.Face == 0:
		k.add("%s: a %s needs a face", of, v.Kind)
	case !path && (v.Face&^Exec != 0 || v.Effect != 0 || v.Dash != "" || v.Recursive || v.Lists != 0 || v.Names != "" || v.Rebases || v.Enclosing != "" || v.Sep != ""):
		k.add("%s: only a path has a face and what goes with it", of)
	case (v.Kind == Enum) != (len(v.Of) > 0):
		k.add("%s: an enum, and nothing else, has words", of)
	case v.Face >= Exec<<1 || v.Effect >= Attr<<1 || v.Lists >= Exec<<1:
		k.add("%s: unknown bits in face or effect", of)
	}
	if !slices.Contains([]string{"", "stdin", "stdout", "stdio"}, v.Dash) {
		k.add("%s: dash %q is not known", of, v.Dash)
	}
	if v.Names != "" && v.Names != "sources" {
		k.add("%s: names %q is not known", of, v.Names)
	}
}

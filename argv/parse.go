package argv

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error says that an argv cannot be a command line at all: no kernel would run
// it as written. Arg is the place of the fault, 0 where argv is empty.
type Error struct {
	Arg int
	Why string
}

func (e *Error) Error() string { return fmt.Sprintf("argument %d: %s", e.Arg, e.Why) }

// check refuses what execve(2) could not hand on unchanged.
func check(argv []string) error {
	if len(argv) == 0 {
		return &Error{Why: "no command"}
	}
	for i, tok := range argv {
		if strings.IndexByte(tok, 0) >= 0 {
			return &Error{Arg: i, Why: "holds a NUL byte: " + Quote(tok)}
		}
	}
	return nil
}

// Parse says what argv means to the tool that c describes. It reads as the
// tool itself would with POSIXLY_CORRECT and _POSIX2_VERSION unset, which is for
// the caller to see to: with them getopt_long(3) no longer permutes.
//
// The error is an *Error, for an argv that is empty or holds a NUL byte. Tokens
// that c does not know are no error; they are listed as unexplained. Values of
// flags are not checked against their kind where the kind names nothing: to
// reject a malformed number is the tool's own business.
//
// argv is kept, not copied. The time taken is linear in its size.
func Parse(c *Command, argv []string) (*Invocation, error) {
	if err := check(argv); err != nil {
		return nil, err
	}
	p := &parser{argv: argv, inv: &Invocation{Tool: c.Name, Argv: argv}}
	p.command(c, 1)
	p.settle()
	return p.inv, nil
}

// parser holds the state of one Parse.
type parser struct {
	argv  []string
	inv   *Invocation
	flags []*Flag // those present, each once
	words []word  // operands of the current command
	base  string  // where relative paths start, as rebasing options left it
}

// word is an operand before it has its slot.
type word struct {
	arg   int
	after bool // behind "--"
	base  string
}

// command explains argv from argument i on as a call of c.
func (p *parser) command(c *Command, i int) {
	p.inv.Command, p.inv.Module = c, c.Module
	p.inv.Needs |= c.Needs
	if c.Grammar == Find {
		p.find(c, i)
	} else {
		i = p.getopt(c, i)
	}
	if len(c.Subs) == 0 {
		p.fill(c)
		return
	}
	if i == len(p.argv) {
		p.imply(c)
		return
	}
	name := p.argv[i]
	for s := range c.Subs {
		if c.Subs[s].Name == name {
			p.command(&c.Subs[s], i+1)
			return
		}
	}
	names := make([]string, len(c.Subs))
	for s := range c.Subs {
		names[s] = c.Subs[s].Name
	}
	p.unexplained(i, "no such subcommand", name, names)
	for i++; i < len(p.argv); i++ {
		p.unexplained(i, "follows an unknown subcommand", "", nil)
	}
}

// note records that f is present.
func (p *parser) note(f *Flag) {
	p.inv.Needs |= f.Needs
	if !slices.Contains(p.flags, f) {
		p.flags = append(p.flags, f)
	}
}

// bare records f without a value, given at argument i.
func (p *parser) bare(f *Flag, i int) {
	p.note(f)
	p.inv.Set = append(p.inv.Set, Setting{Key: ParamKey(f), Bare: true, Arg: i})
}

// value records text, which is in argument arg, as the value v of the flag f
// that stands in argument i as name.
func (p *parser) value(f *Flag, name string, i int, v Value, text string, arg int) {
	key := ParamKey(f)
	p.inv.Set = append(p.inv.Set, Setting{Key: key, Value: text, Arg: i})
	texts := []string{text}
	if v.Sep != "" {
		texts = strings.Split(text, v.Sep)
	}
	for _, one := range texts {
		if one == "" && len(texts) > 1 {
			continue
		}
		p.inv.Operands = append(p.inv.Operands, Operand{Arg: arg, Flag: name, Key: key, Text: one, Value: v, Base: p.base})
	}
	if v.Rebases {
		p.base = join(p.base, text)
	}
}

// join is where text leads from base. It is not path.Clean: "a/.." is not
// always ".", since a may be a link.
func join(base, text string) string {
	switch {
	case base == "" || strings.HasPrefix(text, "/"):
		return text
	case text == "": // git -C leaves the directory as it is
		return base
	}
	return base + "/" + text
}

// take explains the flag f, spelt name, in argument i, with the value attached
// to it if has is set, and returns the last argument that it uses.
func (p *parser) take(f *Flag, name string, i int, attached string, has bool) int {
	if !takes(f, name) || (!has && mayLack(f, name)) {
		p.bare(f, i)
		return i
	}
	need := len(f.Values)
	if has {
		need--
	}
	if i+need >= len(p.argv) {
		p.unexplained(i, "option "+name+" needs a value", "", nil)
		for i++; i < len(p.argv); i++ { // arity above one, partly there
			p.unexplained(i, "belongs to "+name+", which needs more", "", nil)
		}
		return i - 1
	}
	p.note(f)
	at, values := i, f.Values
	if has {
		p.value(f, name, i, values[0], attached, i)
		values = values[1:]
	}
	for _, v := range values {
		at++
		p.value(f, name, i, v, p.argv[at], at)
	}
	return at
}

// takes reports whether the spelling name of f can have a value.
func takes(f *Flag, name string) bool {
	return len(f.Values) > 0 && (!f.OptionalLong || isLong(name))
}

// mayLack reports whether the spelling name of f can stand without its value.
func mayLack(f *Flag, name string) bool {
	return f.Optional || f.OptionalLong && isLong(name)
}

func isLong(name string) bool { return strings.HasPrefix(name, "--") }

// unexplained records argument i; wrong is the part of it that is to be
// compared with the known spellings.
func (p *parser) unexplained(i int, why, wrong string, known []string) {
	u := Unexplained{Arg: i, Token: p.argv[i], Why: why}
	if len(p.inv.Unexplained) < nearestTokens && len(wrong) > 2 {
		u.Nearest = nearest(wrong, known)
	}
	p.inv.Unexplained = append(p.inv.Unexplained, u)
}

// spellings are all names of c's flags.
func spellings(c *Command) []string {
	var names []string
	for i := range c.Flags {
		names = append(names, c.Flags[i].Names...)
	}
	return names
}

// fill gives the operands of c their slots, and adds those that c implies.
func (p *parser) fill(c *Command) {
	defer p.imply(c)
	slots, ahead := make([]*Slot, 0, len(c.Slots)), 0
	for i := range c.Slots { // in declared order: first those before "--"
		s := &c.Slots[i]
		if s.AfterDashes || p.change(s.Key).Drop {
			continue
		}
		slots = append(slots, s)
	}
	ahead = len(slots)
	dashes := false
	for i := range c.Slots {
		if s := &c.Slots[i]; s.AfterDashes {
			dashes = true
			if !p.change(s.Key).Drop {
				slots = append(slots, s)
			}
		}
	}
	words := p.words
	if dashes {
		n := len(words)
		if i := slices.IndexFunc(words, func(w word) bool { return w.after }); i >= 0 {
			n = i
		}
		p.assign(slots[ahead:], words[n:])
		words = words[:n]
	} else {
		ahead = len(slots)
	}
	p.assign(slots[:ahead], words)
}

// assign fills slots with words: from the left up to the slot that repeats,
// from the right behind it. Where words are too few, the required slots on the
// right come first: a lone operand of cp is judged as what it would overwrite.
func (p *parser) assign(slots []*Slot, words []word) {
	repeat := slices.IndexFunc(slots, func(s *Slot) bool { return s.Repeat })
	if repeat < 0 {
		repeat = len(slots)
	}
	tail := max(0, len(slots)-repeat-1)
	back := min(tail, len(words))
	for i, w := range words[len(words)-back:] {
		p.operand(slots[len(slots)-back+i], w)
	}
	words = words[:len(words)-back]
	for i, s := range slots[:len(slots)-tail] {
		switch {
		case len(words) == 0:
			if change := p.change(s.Key); s.Default != "" || change.Default != "" {
				p.implied(s.Key, cmp.Or(change.Default, s.Default), s.Value)
			}
		case i == repeat:
			for _, w := range words {
				p.operand(s, w)
			}
			words = nil
		default:
			p.operand(s, words[0])
			words = words[1:]
		}
	}
	for _, w := range words {
		p.unexplained(w.arg, "more operands than it takes", "", nil)
	}
}

// operand records the word w in slot s.
func (p *parser) operand(s *Slot, w word) {
	text := p.argv[w.arg]
	p.inv.Set = append(p.inv.Set, Setting{Key: s.Key, Value: text, Arg: w.arg})
	p.inv.Operands = append(p.inv.Operands, Operand{Arg: w.arg, Key: s.Key, Text: text, Value: s.Value, Base: w.base})
}

// imply adds the operands that c always uses.
func (p *parser) imply(c *Command) {
	for i := range c.Implicit {
		p.implied(c.Implicit[i].Key, c.Implicit[i].Default, c.Implicit[i].Value)
	}
}

func (p *parser) implied(key, text string, v Value) {
	p.inv.Operands = append(p.inv.Operands, Operand{Arg: -1, Key: key, Text: text, Value: v, Base: p.base})
}

// change is what the flags present do to the operands called key, all together.
func (p *parser) change(key string) Change {
	sum := Change{Slot: key}
	for _, f := range p.flags {
		for i := range f.Changes {
			c := &f.Changes[i]
			if c.Slot != key {
				continue
			}
			sum.Face |= c.Face
			sum.Effect |= c.Effect
			sum.Recursive = sum.Recursive || c.Recursive
			sum.Drop = sum.Drop || c.Drop
			sum.Plain = sum.Plain || c.Plain
			sum.Kind = cmp.Or(c.Kind, sum.Kind)
			sum.Default = cmp.Or(c.Default, sum.Default)
		}
	}
	return sum
}

// settle finishes the operands, now that all flags are known: what the flags
// change, which of them name something, their order, and the names that sources
// give.
func (p *parser) settle() {
	changes := make([]Change, 0, 8)
	ops := p.inv.Operands[:0]
	var sources []string
	for _, op := range p.inv.Operands {
		i := slices.IndexFunc(changes, func(c Change) bool { return c.Slot == op.Key })
		if i < 0 {
			i = len(changes)
			changes = append(changes, p.change(op.Key))
		}
		c := &changes[i]
		op.Value.Kind = cmp.Or(c.Kind, op.Value.Kind)
		op.Value.Face = cmp.Or(c.Face, op.Value.Face)
		op.Value.Effect = cmp.Or(c.Effect, op.Value.Effect)
		op.Value.Recursive = op.Value.Recursive || c.Recursive
		if c.Plain {
			op.Value.Names = ""
		}
		if op.Value.Kind == Program {
			op.Value.Face |= Exec
		}
		if !op.Value.Kind.names() {
			continue
		}
		op.Stream = op.Text == "-" && op.Value.Dash != ""
		if op.Stream || strings.HasPrefix(op.Text, "/") {
			op.Base = ""
		}
		if op.Key == "source" && op.Flag == "" {
			sources = append(sources, baseName(op.Text))
		}
		ops = append(ops, op)
	}
	for i := range ops {
		if ops[i].Value.Names == "sources" {
			ops[i].Sources = sources
		}
	}
	slices.SortStableFunc(ops, func(a, b Operand) int { return cmp.Compare(uint(a.Arg), uint(b.Arg)) }) // -1 is last
	slices.SortStableFunc(p.inv.Set, func(a, b Setting) int { return cmp.Compare(a.Arg, b.Arg) })
	slices.SortStableFunc(p.inv.Unexplained, func(a, b Unexplained) int { return cmp.Compare(a.Arg, b.Arg) })
	p.inv.Operands = ops
}

// names reports whether a value of kind k names something that is judged.
func (k Kind) names() bool {
	return k == Path || k == Program || k == Rev || k == Config
}

// baseName is the name that cp and mv give a source beneath a directory: the
// last part without trailing slashes. "." stands for the directory itself, as
// for "/" and for "a/.." (coreutils cp.c does not copy into "dest/..").
func baseName(text string) string {
	text = strings.TrimRight(text, "/")
	text = text[strings.LastIndexByte(text, '/')+1:]
	if text == "" || text == ".." {
		return "."
	}
	return text
}

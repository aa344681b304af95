package argv

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Render makes the argv, argv[0] included, that gives c the parameters: a JSON
// object whose keys are those of the flags and operands of c and of the
// subcommands that path names. null stands for an absent parameter, false for an
// absent flag; a flag or operand that repeats takes an array. The order of keys
// in the object means nothing: flags come in the order of their rank.
//
// The result is parsed back, and returned only if that gives the parameters
// again. What a parameter cannot say, a number of times for a flag without value
// or a file name that is not UTF-8, needs an argv.
//
// The error is a *ParamError if the parameters are at fault, an *Error if path
// is; anything else is a fault of the description of the tool.
func Render(c *Command, path []string, params []byte) ([]string, error) {
	r := renderer{argv: []string{c.Name}, levels: []*Command{c}}
	for i, name := range path {
		k := slices.IndexFunc(c.Subs, func(s Command) bool { return s.Name == name })
		if k < 0 {
			return nil, &Error{Arg: i + 1, Why: Quote(name) + " is no subcommand of " + c.Name}
		}
		c = &c.Subs[k]
		r.levels = append(r.levels, c)
	}
	r.last = c
	if err := r.read(params); err != nil {
		return nil, err
	}
	if err := r.agree(); err != nil {
		return nil, err
	}
	for i, level := range r.levels {
		if i > 0 {
			r.argv = append(r.argv, level.Name)
		}
		if err := r.level(level); err != nil {
			return nil, err
		}
	}
	if err := r.parseBack(); err != nil {
		return nil, fmt.Errorf("rendering %s: %w; this is a fault of wrap, please report it", c.Module, err)
	}
	return r.argv, nil
}

type renderer struct {
	levels []*Command
	last   *Command
	given  []given // in declared order: level by level, flags, then slots
	argv   []string
	set    []Setting // what parsing argv must give
	forced []int     // places of the tokens that no parameter asked for
}

// given is a parameter that has an effect. flag or slot is set.
type given struct {
	key   string
	value any
	flag  *Flag
	slot  *Slot
	uses  []use
}

// read finds what each parameter belongs to.
func (r *renderer) read(text []byte) error {
	params, err := readParams(text)
	if err != nil {
		return err
	}
	find := func(key string) int {
		return slices.IndexFunc(params, func(p param) bool { return p.key == key })
	}
	known := make([]bool, len(params))
	add := func(g given) error {
		i := find(g.key)
		if i < 0 {
			return nil
		}
		known[i], g.value = true, params[i].value
		var err error
		if g.flag != nil {
			g.uses, err = flagUses(g.flag, g.value, member("", g.key))
		} else {
			g.uses, err = slotUses(g.slot, g.value, member("", g.key))
		}
		if err == nil && len(g.uses) > 0 {
			r.given = append(r.given, g)
		}
		return err
	}
	for _, c := range r.levels {
		for i := range c.Flags {
			if err := add(given{key: ParamKey(&c.Flags[i]), flag: &c.Flags[i]}); err != nil {
				return err
			}
		}
	}
	for i := range r.last.Slots {
		if err := add(given{key: r.last.Slots[i].Key, slot: &r.last.Slots[i]}); err != nil {
			return err
		}
	}
	if i := slices.Index(known, false); i >= 0 {
		e := wrong(member("", params[i].key), params[i].value, "a parameter of "+r.last.Module)
		if near := nearest(params[i].key, r.keys()); near != "" {
			e.Want += ", perhaps " + near
		}
		return e
	}
	return nil
}

// keys are all parameters that could be given.
func (r *renderer) keys() []string {
	var keys []string
	for _, c := range r.levels {
		for i := range c.Flags {
			keys = append(keys, ParamKey(&c.Flags[i]))
		}
	}
	for i := range r.last.Slots {
		keys = append(keys, r.last.Slots[i].Key)
	}
	return keys
}

func (r *renderer) param(key string) *given {
	for i := range r.given {
		if r.given[i].key == key {
			return &r.given[i]
		}
	}
	return nil
}

// agree checks what the parameters say of each other.
func (r *renderer) agree() error {
	for i := range r.given {
		g := &r.given[i]
		if g.flag == nil {
			continue
		}
		for _, other := range g.flag.Excludes {
			if r.param(other) != nil {
				return wrong(member("", g.key), g.value, "it absent, since "+Escape(member("", other))+" is given")
			}
		}
		for _, other := range g.flag.Requires {
			if r.param(other) == nil {
				return wrong(member("", g.key), g.value, Escape(member("", other))+" with it")
			}
		}
	}
	before, gap := false, ""
	for i := range r.last.Slots {
		s := &r.last.Slots[i]
		if s.AfterDashes != before {
			before, gap = s.AfterDashes, ""
		}
		g, by := r.param(s.Key), r.droppedBy(s.Key)
		switch {
		case by != "" && g != nil:
			return wrong(member("", s.Key), g.value, "it absent, since "+Escape(member("", by))+" is given")
		case by != "":
		case g == nil && !s.Optional:
			return &ParamError{Pointer: member("", s.Key), Want: r.needed(s)}
		case g == nil:
			gap = s.Key
		case gap != "":
			return wrong(member("", s.Key), g.value, Escape(member("", gap))+" with it, whose place it would take")
		}
	}
	return nil
}

// droppedBy is the key of a given flag that takes the slot away, or "".
func (r *renderer) droppedBy(slot string) string {
	for i := range r.given {
		if f := r.given[i].flag; f != nil && slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Slot == slot && c.Drop }) {
			return r.given[i].key
		}
	}
	return ""
}

// needed says what the required operand s wants, or what would do instead.
func (r *renderer) needed(s *Slot) string {
	want := wants(&s.Value)
	for _, c := range r.levels {
		for i := range c.Flags {
			if f := &c.Flags[i]; slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Slot == s.Key && c.Drop }) {
				want += ", or " + Escape(member("", ParamKey(f)))
			}
		}
	}
	return want
}

// level renders the flags and operands of c.
func (r *renderer) level(c *Command) error {
	for _, token := range c.Forced {
		if f, _ := exact(c, token); f != nil && r.param(ParamKey(f)) != nil {
			continue
		}
		r.forced = append(r.forced, len(r.argv))
		r.argv = append(r.argv, token)
	}
	var flags []*given
	for i := range c.Flags {
		if g := r.param(ParamKey(&c.Flags[i])); g != nil && g.flag == &c.Flags[i] {
			flags = append(flags, g)
		}
	}
	slices.SortStableFunc(flags, func(a, b *given) int { return cmp.Compare(a.flag.Rank, b.flag.Rank) })
	if c.Grammar == Find {
		return r.find(c, flags)
	}
	for _, g := range flags {
		if err := r.flag(c, g); err != nil {
			return err
		}
	}
	if c != r.last {
		return nil
	}
	return r.operands(c)
}

// find renders start options, paths and expression.
func (r *renderer) find(c *Command, flags []*given) error {
	for _, start := range []bool{true, false} {
		for _, g := range flags {
			if isStart(spelling(g.flag)) != start {
				continue
			}
			if err := r.flag(c, g); err != nil {
				return err
			}
		}
		if start {
			if err := r.operands(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// flag renders every use of the flag g.
func (r *renderer) flag(c *Command, g *given) error {
	for i, u := range g.uses {
		where := member("", g.key)
		if list, _ := g.value.([]any); list != nil && (!compound(g.flag) || isArray(list[0])) {
			where = element(where, i)
		}
		if err := r.use(c, g, u, where); err != nil {
			return err
		}
	}
	return nil
}

// use renders one use of a flag. A value that begins with "-" is attached where
// the grammar allows it; getopt would take it as the next token too, but who
// reads the line would not. git matches some of its long options only with "=",
// so there they always have it.
func (r *renderer) use(c *Command, g *given, u use, where string) error {
	f, name, at := g.flag, spelling(g.flag), len(r.argv)
	if u.bare {
		r.argv = append(r.argv, name)
		r.set = append(r.set, Setting{Key: g.key, Bare: true, Arg: at})
		return nil
	}
	if len(f.Until) > 0 {
		return r.inner(g, u.texts, where)
	}
	text := u.texts[0]
	dash := strings.HasPrefix(text, "-")
	switch {
	case len(u.texts) > 1:
		r.argv = append(append(r.argv, name), u.texts...)
	case c.Grammar == Find && name == "-O":
		r.argv = append(r.argv, name+text)
	case c.Grammar == Find:
		r.argv = append(r.argv, name, text)
	case isLong(name) && (dash || mayLack(f, name) || c.Grammar == Git):
		r.argv = append(r.argv, name+"="+text)
	case mayLack(f, name) && text == "":
		return wrong(where, text, "true or "+wants(&f.Values[0])+" that is not empty")
	case mayLack(f, name), dash && !isLong(name) && c.Grammar != Ordered:
		r.argv = append(r.argv, name+text)
	default:
		r.argv = append(r.argv, name, text)
	}
	for _, text := range u.texts {
		r.set = append(r.set, Setting{Key: g.key, Value: text, Arg: at})
	}
	return nil
}

// inner renders the command of a find primary. Its words may end with "{}" and
// "+" where the primary knows that form; ";" is added otherwise.
func (r *renderer) inner(g *given, words []string, where string) error {
	f, at, end := g.flag, len(r.argv), ";"
	if n := len(words) - 1; n > 0 && words[n] == "+" && endsInner(f, words[:n], "+") {
		words, end = words[:n], "+"
	}
	braces := 0
	for i, w := range words {
		if strings.Contains(w, "{}") {
			braces++
		}
		if endsInner(f, words[:i], w) {
			return wrong(element(where, i), w, "no word that ends the command")
		}
	}
	if end == "+" && (braces > 1 || words[len(words)-1] != "{}") {
		return wrong(where, append(slices.Clone(words), end), "one {} before +, alone in its word")
	}
	r.argv = append(append(append(r.argv, spelling(f)), words...), end)
	r.set = append(r.set, Setting{Key: g.key, Value: QuoteAll(words) + " " + end, Arg: at})
	return nil
}

// operands renders the operands of c, which is r.last.
func (r *renderer) operands(c *Command) error {
	var groups [2][]string // before "--", behind it
	var keys [2][]string
	dashes := false
	for i := range c.Slots {
		s := &c.Slots[i]
		g := r.param(s.Key)
		if g == nil {
			continue
		}
		k := 0
		if s.AfterDashes {
			k = 1
		}
		for n, u := range g.uses {
			text, escape, err := r.operand(c, s, g, u.texts[0], n)
			if err != nil {
				return err
			}
			dashes = dashes || escape
			groups[k], keys[k] = append(groups[k], text), append(keys[k], s.Key)
		}
	}
	if dashes {
		r.argv = append(r.argv, "--")
	}
	for k := range groups {
		if k == 1 && len(groups[k]) > 0 {
			r.argv = append(r.argv, "--")
		}
		for i, text := range groups[k] {
			r.set = append(r.set, Setting{Key: keys[k][i], Value: text, Arg: len(r.argv)})
			r.argv = append(r.argv, text)
		}
	}
	return nil
}

// operand is text as the tool must be given it in slot s, and whether "--" must
// stand before it. A path that the tool could take for something else gets "./",
// which needs nothing of its option parser.
func (r *renderer) operand(c *Command, s *Slot, g *given, text string, n int) (string, bool, error) {
	dash := len(text) > 1 && text[0] == '-'
	bad := func(want string) error {
		where, value := member("", g.key), g.value
		if list, ok := value.([]any); ok {
			where, value = element(where, n), list[n]
		}
		return wrong(where, value, want)
	}
	kind := s.Value.Kind
	for i := range r.given {
		if f := r.given[i].flag; f != nil {
			for _, ch := range f.Changes {
				if ch.Slot == s.Key && ch.Kind != None {
					kind = ch.Kind
				}
			}
		}
	}
	switch {
	case text == "" && (kind == Path || kind == Rev): // a change made it one
		return "", false, bad("a path that is not empty")
	case kind == Path && (dash || c.Grammar == GNU && text[0] == '+' || c.Grammar == Find && inExpression(text, false)):
		// sort and tail still read "+NUM" as an option.
		return "./" + text, false, nil
	case !dash || kind == Path:
		return text, false, nil
	case kind == Integer || kind == Number:
		return "", false, bad("a number that is not negative")
	case kind == Rev:
		return "", false, bad("a revision or a path that does not begin with -")
	case c.Grammar == Find || slices.ContainsFunc(c.Slots, func(s Slot) bool { return s.AfterDashes }):
		return "", false, bad(wants(&s.Value) + " that does not begin with -")
	}
	return text, true, nil
}

// parseBack checks that the argv means the parameters.
func (r *renderer) parseBack() error {
	inv, err := Parse(r.levels[0], r.argv)
	if err != nil {
		return err
	}
	if len(inv.Unexplained) > 0 {
		u := inv.Unexplained[0]
		return fmt.Errorf("its own parser does not know %s: %s", Quote(u.Token), u.Why)
	}
	set := slices.DeleteFunc(slices.Clone(inv.Set), func(s Setting) bool { return slices.Contains(r.forced, s.Arg) })
	if inv.Command != r.last || !slices.Equal(set, r.set) {
		return fmt.Errorf("%s means something else", QuoteAll(r.argv))
	}
	return nil
}

package argv

import (
	"slices"
	"strings"
)

// getopt explains arguments from i on by the rules of getopt_long(3) (glibc),
// of its "+" form for an Ordered command, or of git's parse-options. It collects
// the operands in p.words and returns the place of the subcommand, len(p.argv)
// if there is none.
func (p *parser) getopt(c *Command, i int) int {
	p.words = nil
	level := len(p.inv.Operands)
	after := false
	for ; i < len(p.argv); i++ {
		tok := p.argv[i]
		switch {
		case after:
			p.words = append(p.words, word{arg: i, after: true, base: p.base})
		case tok == "--" && len(c.Subs) > 0:
			// git refuses it before the subcommand, and nothing says that
			// another tool would not.
			p.unexplained(i, "no subcommand may follow it", "", nil)
		case tok == "--":
			after = true
		case c.Digits == DigitsTail && i == 1 && p.tailNumber(c):
		case len(tok) < 2 || tok[0] != '-':
			if len(c.Subs) > 0 {
				p.rebase(level)
				return i
			}
			after = c.Grammar == Ordered
			p.words = append(p.words, word{arg: i, base: p.base})
		case slices.Contains(c.Forced, tok) && !p.known(c, tok):
			// Render added it: explained, and without meaning for the call.
		case tok[1] == '-':
			i = p.long(c, i)
		default:
			i = p.short(c, i)
		}
	}
	if c.Grammar == Ordered {
		p.rebase(level)
	}
	return i
}

// rebase gives the paths of a command's own options the directory that all its
// rebasing options lead to, as git does: "git --git-dir=a.git -C c" reads
// c/a.git (git(1), -C). level is the first operand of the command.
func (p *parser) rebase(level int) {
	for i := level; i < len(p.inv.Operands); i++ {
		if op := &p.inv.Operands[i]; !op.Value.Rebases {
			op.Base = p.base
		}
	}
}

// known reports whether the spelling tok belongs to a flag of c.
func (p *parser) known(c *Command, tok string) bool {
	f, _ := exact(c, tok)
	return f != nil
}

// exact finds the flag of c with the spelling name.
func exact(c *Command, name string) (*Flag, string) {
	for i := range c.Flags {
		for _, n := range c.Flags[i].Names {
			if n == name {
				return &c.Flags[i], n
			}
		}
	}
	return nil, ""
}

// long explains "--name" or "--name=value" in argument i and returns the last
// argument used. glibc takes an exact match first, then a prefix, if all options
// that it fits are one: spellings of one flag are not ambiguous.
func (p *parser) long(c *Command, i int) int {
	name, attached, has := strings.Cut(p.argv[i], "=")
	f, full := exact(c, name)
	if f == nil && c.Grammar == GNU {
		var fits []string
		for k := range c.Flags {
			for _, n := range c.Flags[k].Names {
				if !isLong(n) || !strings.HasPrefix(n, name) {
					continue
				}
				if f != &c.Flags[k] {
					fits = append(fits, n)
				}
				if f == nil {
					f, full = &c.Flags[k], n
				}
			}
		}
		if len(fits) > 1 {
			p.unexplained(i, "ambiguous: "+strings.Join(fits, ", "), "", nil)
			return i
		}
	}
	switch {
	case f == nil:
		p.unexplained(i, "no such option", name, spellings(c))
		return i
	case has && !takes(f, full):
		p.unexplained(i, "option "+full+" takes no value", "", nil)
		return i
	}
	return p.take(f, full, i, attached, has)
}

// short explains the cluster of short options in argument i and returns the last
// argument used. An option that takes a value has the rest of the cluster, or,
// unless its value is optional, the next argument.
func (p *parser) short(c *Command, i int) int {
	tok := p.argv[i]
	if isDigit(tok[1]) && p.number(c, i) {
		return i
	}
	for k := 1; k < len(tok); k++ {
		f, name := p.letter(c, tok[k])
		switch {
		case f == nil && c.Digits == DigitsCluster && c.Dashes != "" && isDigit(tok[k]):
			end := k + 1
			for end < len(tok) && isDigit(tok[end]) {
				end++
			}
			p.digits(c, c.Dashes, tok[k:end], i)
			k = end - 1
		case f == nil:
			p.unexplained(i, "no option "+Quote("-"+tok[k:k+1]), tok, spellings(c))
			return i
		case takes(f, name):
			return p.take(f, name, i, tok[k+1:], k+1 < len(tok))
		default:
			p.bare(f, i)
		}
	}
	return i
}

// letter finds the flag of c with the short spelling of the byte b.
func (p *parser) letter(c *Command, b byte) (*Flag, string) {
	for i := range c.Flags {
		for _, n := range c.Flags[i].Names {
			if len(n) == 2 && n[0] == '-' && n[1] == b {
				return &c.Flags[i], n
			}
		}
	}
	return nil, ""
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// digits records the number text for the flag with the given key.
func (p *parser) digits(c *Command, key, text string, i int) {
	for k := range c.Flags {
		if f := &c.Flags[k]; ParamKey(f) == key {
			p.note(f)
		}
	}
	p.inv.Set = append(p.inv.Set, Setting{Key: key, Value: text, Arg: i})
}

// number explains argument i as the obsolete "-NUM" of c, if it is one.
func (p *parser) number(c *Command, i int) bool {
	switch {
	case c.Dashes == "" || i != 1 && c.Digits == DigitsHead:
		return false
	case c.Digits == DigitsHead:
		return p.headNumber(c)
	case c.Digits == DigitsWhole && strings.Trim(p.argv[i][1:], "0123456789") == "":
		p.digits(c, c.Dashes, p.argv[i][1:], i)
		return true
	}
	return false
}

// headNumber explains argument 1 as head's "-NUM" with letters behind it:
// c, b, k and m count bytes, l lines, the rest are flags (coreutils head.c).
func (p *parser) headNumber(c *Command) bool {
	tok := p.argv[1]
	end := 1
	for end < len(tok) && isDigit(tok[end]) {
		end++
	}
	key, text := c.Dashes, tok[1:end]
	var flags []*Flag
	for k := end; k < len(tok); k++ {
		f, name := p.letter(c, tok[k])
		switch tok[k] {
		case 'b', 'k', 'm', 'c':
			bytes, _ := p.letter(c, 'c')
			if bytes == nil {
				return false
			}
			key, text = ParamKey(bytes), tok[1:end]
			if tok[k] != 'c' {
				text = tok[1:end] + tok[k:k+1]
			}
		case 'l':
			key, text = c.Dashes, tok[1:end]
		default:
			if f == nil || takes(f, name) {
				return false
			}
			flags = append(flags, f)
		}
	}
	p.digits(c, key, text, 1)
	for _, f := range flags {
		p.bare(f, 1)
	}
	return true
}

// tailNumber explains argument 1 as tail's obsolete "-NUM[bcl][f]" or
// "+NUM[bcl][f]", if tail would: that is, if at most one file and no other
// option follows (coreutils tail.c, parse_obsolete_option). Everywhere else
// "+NUM" is a file.
func (p *parser) tailNumber(c *Command) bool {
	tok := p.argv[1]
	n := len(p.argv)
	switch {
	case c.Dashes == "" || len(tok) < 2 || tok[0] != '-' && tok[0] != '+' || !isDigit(tok[1]):
		return false
	case n == 2 || n == 3 && (len(p.argv[2]) < 2 || p.argv[2][0] != '-'):
	case (n == 3 || n == 4) && p.argv[2] == "--":
	default:
		return false
	}
	end := 1
	for end < len(tok) && isDigit(tok[end]) {
		end++
	}
	key, text, rest := c.Dashes, strings.TrimPrefix(tok[:end], "-"), tok[end:]
	if rest != "" && (rest[0] == 'b' || rest[0] == 'c') {
		bytes, _ := p.letter(c, 'c')
		if bytes == nil {
			return false
		}
		key = ParamKey(bytes)
		text += strings.TrimSuffix(rest[:1], "c")
		rest = rest[1:]
	} else {
		rest = strings.TrimPrefix(rest, "l")
	}
	follow, _ := p.letter(c, 'f')
	if rest != "" && (rest != "f" || follow == nil) {
		return false
	}
	p.digits(c, key, text, 1)
	if rest != "" {
		p.bare(follow, 1)
	}
	return true
}

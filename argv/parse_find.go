package argv

import (
	"slices"
	"strings"
)

// find explains arguments from i on by the rules of find(1) (findutils 4.9):
// start options, then paths, then the expression, which no path may follow.
func (p *parser) find(c *Command, i int) {
	i = p.startOptions(c, i)
	for ; i < len(p.argv) && !inExpression(p.argv[i], true); i++ {
		p.words = append(p.words, word{arg: i, base: p.base})
	}
	for ; i < len(p.argv); i++ {
		tok := p.argv[i]
		if !inExpression(tok, false) {
			p.unexplained(i, "paths must precede the expression", "", nil)
			continue
		}
		f, name := exact(c, tok)
		switch {
		case f == nil && (tok == "(" || tok == ")" || tok == "!" || tok == ","):
			// An operator of the grammar.
		case f == nil || isStart(name):
			p.unexplained(i, "no such primary", tok, spellings(c))
		case len(f.Until) > 0:
			i = p.inner(f, name, i)
		default:
			i = p.take(f, name, i, "", false)
		}
	}
}

// startOptions explains -H, -L, -P, -D WORD and -OLEVEL. find takes them only
// before the paths, never clustered, and "--" ends them.
func (p *parser) startOptions(c *Command, i int) int {
	for ; i < len(p.argv); i++ {
		tok := p.argv[i]
		if tok == "--" {
			return i + 1
		}
		if strings.HasPrefix(tok, "-O") {
			if f, name := exact(c, "-O"); f != nil && len(tok) > 2 {
				i = p.take(f, name, i, tok[2:], true)
				continue
			}
		}
		f, name := exact(c, tok)
		if f == nil || !isStart(name) {
			break
		}
		i = p.take(f, name, i, "", false)
	}
	return i
}

// isStart reports whether the spelling is that of a start option: they are
// single capitals, and no primary is.
func isStart(name string) bool {
	return len(name) == 2 && name[0] == '-' && 'A' <= name[1] && name[1] <= 'Z'
}

// inExpression reports whether find takes tok for a part of the expression;
// first is set for a token before which no other was. "-" alone is a path.
func inExpression(tok string, first bool) bool {
	switch tok {
	case "(", "!":
		return true
	case ")", ",":
		return !first
	}
	return len(tok) > 1 && tok[0] == '-'
}

// inner explains the command behind the primary f, spelt name, in argument i,
// and returns the place of its terminator. ";" ends it; "+" only directly behind
// a word with "{}", and find then refuses any but the one word "{}".
func (p *parser) inner(f *Flag, name string, i int) int {
	start, braces := i+1, 0
	for end := start; end < len(p.argv); end++ {
		tok := p.argv[end]
		if !endsInner(f, p.argv[start:end], tok) {
			if strings.Contains(tok, "{}") {
				braces++
			}
			continue
		}
		why := ""
		switch {
		case end == start:
			why = name + " needs a command"
		case tok == "+" && (braces > 1 || p.argv[end-1] != "{}"):
			why = name + " … + needs one {}, alone in its word"
		}
		if why != "" {
			p.unexplained(i, why, "", nil)
			for i++; i <= end; i++ {
				p.unexplained(i, "belongs to "+name, "", nil)
			}
			return end
		}
		p.note(f)
		key, words := ParamKey(f), p.argv[start:end:end]
		p.inv.Set = append(p.inv.Set, Setting{Key: key, Value: QuoteAll(words) + " " + tok, Arg: i})
		p.inv.Operands = append(p.inv.Operands, Operand{
			Arg: start, Flag: name, Key: key, Text: words[0], Value: Value{Kind: Program, Face: Exec}, Base: p.base, Inner: words,
		})
		return end
	}
	p.unexplained(i, name+" has no end", "", nil)
	for i++; i < len(p.argv); i++ {
		p.unexplained(i, "belongs to "+name+", which has no end", "", nil)
	}
	return i
}

// endsInner reports whether the word next ends the inner command of f that has
// the given words so far.
func endsInner(f *Flag, words []string, next string) bool {
	if next == "+" && (len(words) == 0 || !strings.Contains(words[len(words)-1], "{}")) {
		return false
	}
	return slices.Contains(f.Until, next)
}

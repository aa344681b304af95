package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"unicode/utf8"
)

// genesis is the prev of the first record.
const genesis = "0000000000000000000000000000000000000000000000000000000000000000"

const (
	headPrefix = `{"schema":1,"seq":`
	prevPrefix = `,"prev":"`
	hashPrefix = `,"hash":"`
	hashSuffix = `"}`
	hashLen    = 2 * sha256.Size
	// tailLen is the length of what hash adds to a line, less the brace.
	tailLen = len(hashPrefix) + hashLen + len(hashSuffix)
)

// encode appends r as one line without hash and without the closing brace and
// newline. It is written by hand for the order of fields, which is part of the
// format, for the escapes, and because encoding/json's first use of a type costs
// a process more than all the rest of Append.
func encode(b []byte, r *Record) []byte {
	e := encoder{b: b, cut: r.Cut[:0]}
	e.b = append(e.b, headPrefix...)
	e.b = strconv.AppendUint(e.b, r.Seq, 10)
	e.b = append(e.b, prevPrefix...)
	e.b = append(e.b, r.Prev...)
	e.b = append(e.b, '"')
	e.str("time", r.Time, "", true)
	e.str("kind", string(r.Kind), "", true)
	e.str("call", r.Call, "", true)
	e.str("verdict", r.Verdict, "", false)
	e.str("error", r.Error, "", false)
	e.str("tool", r.Tool, "", false)
	e.str("module", r.Module, "", false)
	e.str("path", r.Path, "", false)
	e.str("overlay", r.Overlay, "", false)
	e.str("root", r.Root, "", false)
	e.str("workdir", r.Workdir, "", false)
	e.str("mode", r.Mode, "", false)
	e.str("argv_sha256", r.ArgvSHA256, "", false)
	e.num("argc", int64(r.Argc), false)
	list(&e, "operands", "", r.Operands, false, func(at string, o *Operand) {
		e.open()
		e.num("arg", int64(o.Arg), true)
		e.str("kind", o.Kind, at, false)
		e.str("face", o.Face, at, false)
		e.str("resolved", o.Resolved, at, false)
		e.str("role", o.Role, at, false)
		if o.Nlink != 0 {
			e.key("nlink")
			e.b = strconv.AppendUint(e.b, o.Nlink, 10)
		}
		e.b = append(e.b, '}')
	})
	list(&e, "refusals", "", r.Refusals, false, func(at string, f *Reason) {
		e.open()
		e.str("code", f.Code, at, true)
		e.str("message", f.Message, at, true)
		e.b = append(e.b, '}')
	})
	list(&e, "layers", "", r.Layers, false, func(at string, l *Layer) {
		e.open()
		e.str("layer", l.Layer, at, true)
		e.str("result", l.Result, at, true)
		e.str("rule", l.Rule, at, false)
		e.b = append(e.b, '}')
	})
	if c := r.Cage; c != nil {
		e.key("cage")
		e.open()
		e.str("scope", c.Scope, "cage.", true)
		e.str("net", c.Net, "cage.", false)
		e.strs("enforced", "cage.", c.Enforced, true)
		e.strs("missing", "cage.", c.Missing, true)
		e.b = append(e.b, '}')
	}
	if o := r.Result; o != nil {
		e.key("outcome")
		e.open()
		e.str("kind", o.Kind, "outcome.", true)
		e.num("code", int64(o.Code), true)
		e.str("signal", o.Signal, "outcome.", false)
		e.str("counted", o.Counted, "outcome.", false)
		e.num("duration_ms", o.DurationMS, true)
		e.num("max_rss_kib", o.MaxRSSKiB, false)
		e.num("left_behind", int64(o.LeftBehind), false)
		e.strs("quarantined", "outcome.", o.Quarantined, false)
		e.b = append(e.b, '}')
	}
	e.strs("notes", "", r.Notes, false)
	e.num("torn", int64(r.Torn), false)
	r.Cut = e.cut
	if len(r.Cut) > 0 {
		e.key("cut")
		e.b = append(e.b, '[')
		for i, c := range r.Cut {
			if i > 0 {
				e.b = append(e.b, ',')
			}
			e.open()
			e.str("field", c.Field, "", true)
			e.num("bytes", int64(c.Bytes), false)
			e.str("sha256", c.SHA256, "", false)
			e.num("items", int64(c.Items), false)
			e.b = append(e.b, '}')
		}
		e.b = append(e.b, ']')
	}
	return e.b
}

// seal closes the line that encode began, and returns its hash beside it.
// The body starts at from.
func seal(b []byte, from int) (line []byte, hash string) {
	sum := sha256.Sum256(append(b[from:], '}'))
	hash = hex.EncodeToString(sum[:])
	b = append(b, hashPrefix...)
	b = append(b, hash...)
	b = append(b, hashSuffix...)
	return append(b, '\n'), hash
}

// link is what ties a line into the chain.
type link struct {
	seq        uint64
	prev, hash string
}

// parseLink reads the chain fields of a line that has no newline. complete: the
// line has the form of a whole record; good: its hash is that of its bytes too.
func parseLink(line []byte) (l link, complete, good bool) {
	body := len(line) - tailLen
	if body < len(headPrefix) || string(line[:len(headPrefix)]) != headPrefix ||
		string(line[body:body+len(hashPrefix)]) != hashPrefix ||
		string(line[len(line)-len(hashSuffix):]) != hashSuffix {
		return link{}, false, false
	}
	l.hash = string(line[body+len(hashPrefix) : len(line)-len(hashSuffix)])
	rest := line[len(headPrefix):body]
	n := 0
	for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
		n++
	}
	seq, err := strconv.ParseUint(string(rest[:n]), 10, 64)
	rest = rest[n:]
	if err != nil || len(rest) < len(prevPrefix)+hashLen+1 || string(rest[:len(prevPrefix)]) != prevPrefix {
		return link{}, true, false
	}
	l.seq = seq
	l.prev = string(rest[len(prevPrefix):][:hashLen])

	h := sha256.New()
	h.Write(line[:body])
	h.Write([]byte{'}'})
	return l, true, hex.EncodeToString(h.Sum(nil)) == l.hash
}

type encoder struct {
	b   []byte
	cut []Cut
}

func (e *encoder) open() { e.b = append(e.b, '{') }

// key writes a member name, and the comma before it.
func (e *encoder) key(name string) {
	if e.b[len(e.b)-1] != '{' {
		e.b = append(e.b, ',')
	}
	e.b = append(e.b, '"')
	e.b = append(e.b, name...)
	e.b = append(e.b, '"', ':')
}

func (e *encoder) num(name string, n int64, zero bool) {
	if n != 0 || zero {
		e.key(name)
		e.b = strconv.AppendInt(e.b, n, 10)
	}
}

// str writes a member; at is where its object stands, for Cut.
func (e *encoder) str(name, s, at string, empty bool) {
	if s != "" || empty {
		e.key(name)
		e.value(s, at, name)
	}
}

func (e *encoder) strs(name, at string, list_ []string, empty bool) {
	list(e, name, at, list_, empty, func(at string, s *string) { e.value(*s, at[:len(at)-1], "") })
}

// list writes a list member, or the head of one that is too long. The place
// that item gets ends in a dot.
func list[T any](e *encoder, name, at string, items []T, empty bool, item func(at string, v *T)) {
	if len(items) == 0 && !empty {
		return
	}
	e.key(name)
	if len(items) > MaxList {
		e.cut = append(e.cut, Cut{Field: at + name, Items: len(items)})
		items = items[:MaxList]
	}
	e.b = append(e.b, '[')
	for i := range items {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		item(at+name+"["+strconv.Itoa(i)+"].", &items[i])
	}
	e.b = append(e.b, ']')
}

// value writes a string, and notes what of it is not written as it is.
func (e *encoder) value(s, at, name string) {
	keep := s
	if len(s) > MaxString {
		keep = s[:MaxString]
		for n := 0; n < utf8.UTFMax-1 && !utf8.RuneStart(s[len(keep)]); n++ {
			keep = keep[:len(keep)-1]
		}
	}
	if len(keep) < len(s) || !utf8.ValidString(keep) {
		sum := sha256.Sum256([]byte(s))
		e.cut = append(e.cut, Cut{Field: at + name, Bytes: len(s), SHA256: hex.EncodeToString(sum[:])})
	}
	e.b = appendString(e.b, keep)
}

// appendString writes s as a JSON string. Beside what JSON demands, it escapes
// whatever a terminal or a pager would act on (control, bidirectional and other
// invisible characters), so that a line of the log may be printed as it is. It
// is argv.Escape's set in JSON's spelling; a test holds the two together.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s { // a bad byte arrives as U+FFFD
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case ' ' <= r && r < 0x7f || r >= 0x80 && strconv.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			r -= 0x10000
			b = appendUnit(appendUnit(b, 0xd800|r>>10), 0xdc00|r&0x3ff)
		default:
			b = appendUnit(b, r)
		}
	}
	return append(b, '"')
}

// appendUnit writes a UTF-16 code unit in JSON's \u form.
func appendUnit(b []byte, u rune) []byte {
	const hexDigits = "0123456789abcdef"
	return append(b, '\\', 'u', hexDigits[u>>12&15], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

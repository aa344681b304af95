package guard

import (
	"strconv"
	"strings"

	"github.com/wrapexec/wrap/argv"
)

// url judges an operand that is spelled as a URL. Some programs take one where a
// path is meant, so a file URL counts as the path in it too (RFC 8089), and any
// other URL is no path that could be judged.
func (j *judge) url(op *argv.Operand) *Refusal {
	scheme, rest, ok := strings.Cut(op.Text, ":")
	if !ok || !isScheme(scheme) {
		return nil
	}
	if !strings.EqualFold(scheme, "file") {
		if !strings.HasPrefix(rest, "//") {
			return nil
		}
		return &Refusal{
			Code: CodeUnresolvable, Reason: "Unconfined", Arg: op.Arg, Text: op.Text, Face: op.Value.Face,
			Message: j.tool + ": " + spell(op.Text, op.Flag, "") + " is a URL where a path is expected",
		}
	}
	if host, ok := strings.CutPrefix(rest, "//"); ok {
		i := strings.IndexByte(host, '/')
		if i < 0 {
			return nil
		}
		rest = host[i:]
	}
	in := *op
	if in.Text = unescape(rest); in.Text == "" {
		return nil
	}
	_, uses, ref := j.operand(&in)
	closeUses(uses)
	return ref
}

// isScheme is whether s may stand before the colon of a URL (RFC 3986, 3.1).
func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}

// unescape undoes percent-encoding; what is none stays (package net/url is not
// worth its start-up here).
func unescape(s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b, i = append(b, byte(n)), i+2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

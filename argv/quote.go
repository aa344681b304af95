package argv

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Quote returns s as one word of a shell line that is safe to print: a plain
// word as it stands, anything else in single quotes, and a word that holds what
// a terminal or a log would act on (control characters, bidirectional and other
// invisible marks, line and paragraph separators, bytes that are not UTF-8) in
// the $'…' form with \x, \u and \U escapes. Bash in a UTF-8 locale reads the
// result back as s.
//
// Does not protect against letters that look like other letters.
func Quote(s string) string {
	plain, printable := true, true
	for i, r := range s {
		switch {
		case unsafe(s[i:], r):
			plain, printable = false, false
		case r < utf8.RuneSelf && !plainByte(byte(r)):
			plain = false
		}
	}
	switch {
	case !printable:
		return "$'" + escape(s, true) + "'"
	case !plain || s == "" || s[0] == '=': // zsh expands "=name"
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// QuoteAll quotes each of words and joins them with spaces.
func QuoteAll(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(Quote(w))
	}
	return b.String()
}

// Escape makes free text safe to print on one line: it replaces what Quote
// would escape by the same \x, \u and \U forms, and leaves all else, backslashes
// and quotes too. So it may be applied twice, but cannot be undone.
func Escape(s string) string {
	for i, r := range s {
		if unsafe(s[i:], r) {
			return escape(s, false)
		}
	}
	return s
}

// escape writes the escapes; with quoted also those of backslash and quote.
func escape(s string, quoted bool) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i, r := range s {
		size := 1
		if r != utf8.RuneError {
			size = utf8.RuneLen(r)
		} else if _, n := utf8.DecodeRuneInString(s[i:]); n > 1 {
			size = n
		}
		switch {
		case quoted && (r == '\\' || r == '\''):
			b.WriteByte('\\')
			b.WriteByte(byte(r))
		case !unsafe(s[i:], r):
			b.WriteString(s[i : i+size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < utf8.RuneSelf || size == 1:
			b.WriteString(`\x`)
			b.WriteByte(hex[s[i]>>4])
			b.WriteByte(hex[s[i]&15])
		default:
			digits, mark := 4, `\u`
			if r > 0xffff {
				digits, mark = 8, `\U`
			}
			b.WriteString(mark)
			for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
				b.WriteByte(hex[r>>shift&15])
			}
		}
	}
	return b.String()
}

// unsafe reports whether r, which rest begins with, must not be printed raw.
// strconv.IsPrint leaves out all of Unicode's control, format, separator,
// private and unassigned characters; ASCII space is the only space in it.
func unsafe(rest string, r rune) bool {
	if r == utf8.RuneError {
		_, size := utf8.DecodeRuneInString(rest)
		return size == 1
	}
	return !strconv.IsPrint(r)
}

// plainByte reports whether no shell gives the byte a meaning within a word.
func plainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("_@%+=:,./-", c) >= 0
}

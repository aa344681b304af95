package argv

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestQuote(t *testing.T) {
	for _, tt := range []struct{ in, quote, escape string }{
		{"", "''", ""},
		{"plain-1.txt", "plain-1.txt", "plain-1.txt"},
		{"/a/b:c,d=e+f@g%h_i", "/a/b:c,d=e+f@g%h_i", "/a/b:c,d=e+f@g%h_i"},
		{"=ls", "'=ls'", "=ls"},
		{"--x=~/a", "'--x=~/a'", "--x=~/a"},
		{"naïve", "naïve", "naïve"},
		{"a b", "'a b'", "a b"},
		{"it's", `'it'\''s'`, "it's"},
		{`a\b`, `'a\b'`, `a\b`},
		{"$(x)`y`;*", "'$(x)`y`;*'", "$(x)`y`;*"},
		{"a\nb\tc\rd", `$'a\nb\tc\rd'`, `a\nb\tc\rd`},
		{"\x1b[2J", `$'\x1b[2J'`, `\x1b[2J`},
		{"it's\x07", `$'it\'s\x07'`, `it's\x07`},
		{"a\\\x07", `$'a\\\x07'`, `a\\x07`},
		{"\x7f\u0085\u009b", `$'\x7f\u0085\u009b'`, `\x7f\u0085\u009b`},
		{"\u202e\u2066\u2069\u200e\u200f\u061c\ufeff", `$'\u202e\u2066\u2069\u200e\u200f\u061c\ufeff'`, `\u202e\u2066\u2069\u200e\u200f\u061c\ufeff`},
		{"\u2028\u2029\u00a0\u200b", `$'\u2028\u2029\u00a0\u200b'`, `\u2028\u2029\u00a0\u200b`},
		{"\U000e0041", `$'\U000e0041'`, `\U000e0041`},
		{"\xff\xc3", `$'\xff\xc3'`, `\xff\xc3`},
		{"\ufffd", "\ufffd", "\ufffd"},
		{"\xed\xa0\x80", `$'\xed\xa0\x80'`, `\xed\xa0\x80`},
	} {
		if got := Quote(tt.in); got != tt.quote {
			t.Errorf("Quote(%q) = %s, want %s", tt.in, got, tt.quote)
		}
		if got := Escape(tt.in); got != tt.escape {
			t.Errorf("Escape(%q) = %s, want %s", tt.in, got, tt.escape)
		}
	}
	if got, want := QuoteAll([]string{"a", "b c", ""}), "a 'b c' ''"; got != want {
		t.Errorf("QuoteAll: got %s, want %s", got, want)
	}
}

// hostile reports what of s a terminal or a log reader could act on. It is a
// list of its own, not the rule of quote.go.
func hostile(s string) string {
	if !utf8.ValidString(s) {
		return "not UTF-8"
	}
	for _, r := range s {
		switch {
		case r < ' ', 0x7f <= r && r <= 0x9f, r == 0x61c, 0x200b <= r && r <= 0x200f,
			0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, r == 0xfeff, 0xe0000 <= r && r <= 0xe007f:
			return string(r)
		}
	}
	return ""
}

func TestQuoteSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "text") {
			s = rapid.String().Draw(t, "s")
		}
		for _, out := range []string{Quote(s), Escape(s)} {
			if h := hostile(out); h != "" {
				t.Fatalf("%q became %q, which holds %q", s, out, h)
			}
		}
		if once := Escape(s); Escape(once) != once {
			t.Fatalf("escaping %q twice gives another text", s)
		}
	})
}

// TestQuoteAgainstBash: bash reads every quoted word back as it was.
func TestQuoteAgainstBash(t *testing.T) {
	need(t, "bash")
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.StringOfN(rapid.SampledFrom([]rune("'\\ \n\x1b\u202e$`a0=~")), 0, 6, -1),
		), 1, 20).Draw(t, "words")
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "\x00", "")
		}
		cmd := exec.Command("bash", "-c", "printf '%s\\0' "+QuoteAll(words))
		cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if want := strings.Join(words, "\x00") + "\x00"; err != nil || string(out) != want {
			t.Fatalf("bash read %s as %q (%v), want %q", QuoteAll(words), out, err, want)
		}
	})
}

// need skips the test where the program is absent, and fails it in CI: there a
// comparison with the real program must not get lost.
func need(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
}

package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/wrapexec/wrap/argv"
)

func TestStateDir(t *testing.T) {
	for _, tt := range []struct{ name, home, xdg, want, err string }{
		{"home", "/home/u", "", "/home/u/.local/state/wrap", ""},
		{"xdg", "/home/u", "/var/s/", "/var/s/wrap", ""},
		{"xdg without a home", "", "/var/s", "/var/s/wrap", ""},
		{"neither", "", "", "", "no home"},
		{"relative xdg", "/home/u", "state", "", "not an absolute path"},
		{"relative home", "u", "", "", "not an absolute path"},
		{"NUL", "/home/u", "/a\x00b", "", "NUL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := StateDir(tt.home, tt.xdg)
			if got != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("StateDir(%q, %q) = %q, %v, want %q, error with %q", tt.home, tt.xdg, got, err, tt.want, tt.err)
			}
		})
	}
}

func TestArgvDigest(t *testing.T) {
	seen := make(map[string][]string)
	for _, a := range [][]string{nil, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"a", "b", ""}, {"", "a", "b"}} {
		d := ArgvDigest(a)
		if b, ok := seen[d]; ok {
			t.Errorf("ArgvDigest(%q) = ArgvDigest(%q)", a, b)
		}
		seen[d] = a
	}
	sum := sha256.Sum256([]byte("cat\x00a b\x00"))
	if got, want := ArgvDigest([]string{"cat", "a b"}), hex.EncodeToString(sum[:]); got != want {
		t.Errorf("ArgvDigest = %s, want %s", got, want)
	}
}

// full is a record with every field set.
func full() *Record {
	return &Record{
		Time: "2026-01-02T03:04:05.678Z", Kind: Outcome, Call: "0123456789abcdef",
		Verdict: "refused", Error: "e", Tool: "sort", Module: "sort", Path: "/usr/bin/sort",
		Overlay: "sort@gnu", Root: "/home/u", Workdir: "/home/u/w", Mode: "readonly",
		ArgvSHA256: ArgvDigest([]string{"sort"}), Argc: 1,
		Operands: []Operand{{Arg: 1, Kind: "path", Face: "read", Resolved: "/home/u/a\u202eb\n", Role: "worktree", Nlink: 1 << 63}, {}},
		Refusals: []Reason{{Code: "mode.readonly", Message: `"\` + "\x00\x7f\u00a0\U000e0001ü日"}},
		Layers:   []Layer{{Layer: "path", Result: "refused", Rule: "mode.readonly"}},
		Cage:     &Cage{Scope: "call", Net: "none", Enforced: []string{"fs", "net"}, Missing: []string{}},
		Result: &Result{
			Kind: "exited", Code: -1, Signal: "TERM", Counted: "none", DurationMS: 3, MaxRSSKiB: 4,
			LeftBehind: 5, Quarantined: []string{"q"},
		},
		Notes: []string{"n"},
	}
}

// TestEncode proves that a line is the JSON of its record, with the hash that
// the package comment promises.
func TestEncode(t *testing.T) {
	for _, tt := range []struct {
		name string
		rec  *Record
	}{
		{"zero", &Record{}},
		{"full", full()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.rec
			r.Schema, r.Seq, r.Prev, r.Torn = Schema, 7, genesis, 2
			line, hash := seal(encode(nil, r), 0)
			r.Hash = hash
			var got Record
			dec := json.NewDecoder(bytes.NewReader(line))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&got); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			if diff := cmp.Diff(r, &got, cmp.Transformer("empty", func(c []Cut) []Cut { return append([]Cut{}, c...) })); diff != "" {
				t.Errorf("decoded (-wrote +read):\n%s", diff)
			}
			// encoding/json, with the same fields left out, agrees on all but escapes.
			var ours, theirs any
			b, _ := json.Marshal(r)
			json.Unmarshal(line, &ours)
			json.Unmarshal(b, &theirs)
			if diff := cmp.Diff(theirs, ours); diff != "" {
				t.Errorf("beside encoding/json (-theirs +ours):\n%s", diff)
			}
			body, _, _ := bytes.Cut(line, []byte(`,"hash"`))
			sum := sha256.Sum256(append(bytes.Clone(body), '}'))
			if want := hex.EncodeToString(sum[:]); hash != want {
				t.Errorf("hash = %s, want %s", hash, want)
			}
			l, complete, good := parseLink(bytes.TrimSuffix(line, []byte("\n")))
			if want := (link{7, genesis, hash}); l != want || !complete || !good {
				t.Errorf("parseLink = %+v, %v, %v, want %+v", l, complete, good, want)
			}
		})
	}
}

// TestEscapes holds the log's escapes to argv.Escape's: every rune that the one
// would not print raw, the other does not write raw either.
func TestEscapes(t *testing.T) {
	escaped := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if 0xd800 <= r && r < 0xe000 || r > 0xffff && r%97 != 0 && r>>12 != 0xe0 {
			continue // no runes; and of the upper planes, tags (U+E0000) and a sample
		}
		s := string(r)
		b := appendString(nil, s)
		raw := string(b) == `"`+s+`"`
		if want := argv.Escape(s) == s && r != '"' && r != '\\'; raw != want {
			t.Errorf("%U is written as %s; raw is %v, want %v", r, b, raw, want)
		}
		if !raw {
			escaped++
			var got string
			if err := json.Unmarshal(b, &got); err != nil || got != s {
				t.Errorf("%U is written as %s, which reads as %q, %v", r, b, got, err)
			}
		}
	}
	if escaped < 100 {
		t.Errorf("%d runes are escaped, which is too few to be true", escaped)
	}
}

func TestCut(t *testing.T) {
	sum := func(s string) string {
		h := sha256.Sum256([]byte(s))
		return hex.EncodeToString(h[:])
	}
	long := strings.Repeat("x", MaxString)
	rune3 := strings.Repeat("x", MaxString-1) + "日"
	for _, tt := range []struct {
		name string
		rec  Record
		got  func(*Record) string
		want string
		cut  []Cut
	}{
		{"longest whole", Record{Root: long}, func(r *Record) string { return r.Root }, long, nil},
		{"one more", Record{Root: long + "y"}, func(r *Record) string { return r.Root }, long, []Cut{{Field: "root", Bytes: MaxString + 1, SHA256: sum(long + "y")}}},
		{"between runes", Record{Root: rune3}, func(r *Record) string { return r.Root }, rune3[:MaxString-1], []Cut{{Field: "root", Bytes: MaxString + 2, SHA256: sum(rune3)}}},
		{
			"not UTF-8",
			Record{Operands: []Operand{{}, {Resolved: "/a\xff"}}},
			func(r *Record) string { return r.Operands[1].Resolved },
			"/a\ufffd",
			[]Cut{{Field: "operands[1].resolved", Bytes: 3, SHA256: sum("/a\xff")}},
		},
		{
			"a true U+FFFD",
			Record{Notes: []string{"\ufffd"}},
			func(r *Record) string { return r.Notes[0] },
			"\ufffd",
			nil,
		},
		{
			"in a list of strings",
			Record{Cage: &Cage{Missing: []string{"", "\x80"}}},
			func(r *Record) string { return r.Cage.Missing[1] },
			"\ufffd",
			[]Cut{{Field: "cage.missing[1]", Bytes: 1, SHA256: sum("\x80")}},
		},
		{
			"long list",
			Record{Operands: make([]Operand, MaxList+5)},
			func(r *Record) string { return fmt.Sprint(len(r.Operands)) },
			fmt.Sprint(MaxList),
			[]Cut{{Field: "operands", Items: MaxList + 5}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			line, _ := seal(encode(nil, &tt.rec), 0)
			var got Record
			if err := json.Unmarshal(line, &got); err != nil {
				t.Fatal(err)
			}
			if g := tt.got(&got); g != tt.want {
				t.Errorf("value of %d bytes %.20q…, want %d bytes %.20q…", len(g), g, len(tt.want), tt.want)
			}
			if diff := cmp.Diff(tt.cut, got.Cut); diff != "" {
				t.Errorf("cut (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDocumentedCommand runs the command of the package comment.
func TestDocumentedCommand(t *testing.T) {
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("needs sha256sum")
	}
	l := openLog(t, t.TempDir())
	r := full()
	if err := l.Append(r); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `sed -n 1p "$0" | sed 's/,"hash":"[0-9a-f]*"}$/}/' | tr -d '\n' | sha256sum`, l.Path())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, _, _ := strings.Cut(string(out), " "); got != r.Hash {
		t.Errorf("sha256sum says %s, the record %s", got, r.Hash)
	}
}

func openLog(t *testing.T, dir string) *Log {
	t.Helper()
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// fill writes n records and returns the lines of the log, without newlines.
func fill(t *testing.T, dir string, n int) []string {
	t.Helper()
	l := openLog(t, dir)
	for i := range n {
		if err := l.Append(&Record{Kind: Decision, Call: fmt.Sprintf("%016x", i), Tool: "cat", Root: "/r"}); err != nil {
			t.Fatal(err)
		}
	}
	return readLines(t, l.Path())
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

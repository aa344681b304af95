package audit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func writeLines(t *testing.T, path string, lines []string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTamper finds each kind of change, at its place and nowhere else.
func TestTamper(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l []string) []string
		line   int // first bad, 0: none
		bad    int
		reason string
	}{
		{"nothing", func(l []string) []string { return l }, 0, 0, ""},
		{"edit", func(l []string) []string {
			l[2] = strings.Replace(l[2], `"/r"`, `"/s"`, 1)
			return l
		}, 3, 1, "hash"},
		{"edit of the first", func(l []string) []string {
			l[0] = strings.Replace(l[0], `"/r"`, `"/s"`, 1)
			return l
		}, 1, 1, "hash"},
		{"edit of the last", func(l []string) []string {
			l[5] = strings.Replace(l[5], `"/r"`, `"/s"`, 1)
			return l
		}, 6, 1, "hash"},
		{"edit of a sequence number", func(l []string) []string {
			l[2] = strings.Replace(l[2], `"seq":3`, `"seq":x`, 1)
			return l
		}, 3, 1, "hash"},
		{"edit of a link", func(l []string) []string {
			l[2] = strings.Replace(l[2], `"prev":"`, `"prev":"0`, 1)
			return l
		}, 3, 1, "hash"},
		{"edit with a hash of its own", func(l []string) []string {
			l[2] = rehash(strings.Replace(l[2], `"/r"`, `"/s"`, 1))
			return l
		}, 4, 1, "prev"},
		{"forged, not JSON", func(l []string) []string {
			l[5] = rehash(strings.Replace(l[5], `"root":`, `"root"=`, 1))
			return l
		}, 6, 1, "forged"},
		{"forged, two sequence numbers", func(l []string) []string {
			l[5] = rehash(strings.Replace(l[5], `"root":"/r"`, `"seq":9`, 1))
			return l
		}, 6, 1, "forged"},
		{"cut in the middle", func(l []string) []string { return slices.Delete(l, 2, 4) }, 3, 1, "3 to 4 are missing"},
		{"cut at the start", func(l []string) []string { return l[1:] }, 1, 1, "1 to 1 are missing"},
		{"doubled", func(l []string) []string { return slices.Insert(l, 3, l[2]) }, 4, 1, "doubled or moved"},
		{"swapped", func(l []string) []string {
			l[2], l[3] = l[3], l[2]
			return l
		}, 3, 3, "missing"},
		{"line added", func(l []string) []string { return slices.Insert(l, 3, "{}") }, 4, 1, "knows nothing of it"},
		{"empty line added", func(l []string) []string { return slices.Insert(l, 3, "") }, 4, 1, "knows nothing of it"},
		{"line added at the end", func(l []string) []string { return append(l, "{}") }, 7, 1, "not a record"},
		{"truncated record in the middle", func(l []string) []string {
			l[3] = l[3][:40]
			return l
		}, 4, 1, "knows nothing of it"},
		{"two lines joined", func(l []string) []string {
			l[2] += " " + l[3]
			return slices.Delete(l, 3, 4)
		}, 3, 2, "hash"}, // and one is missing
		{"all gone", func([]string) []string { return nil }, 1, 1, "not a record"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			lines := fill(t, dir, 6)
			path := filepath.Join(dir, FileName)
			writeLines(t, path, tt.change(lines))
			sum, err := Verify(path)
			if err != nil {
				t.Fatal(err)
			}
			if sum.OK() != (tt.line == 0) || sum.Bad != tt.bad {
				t.Errorf("Verify found %d bad lines, first %+v, want %d", sum.Bad, sum.FirstBad, tt.bad)
			}
			if b := sum.FirstBad; tt.line > 0 && (b == nil || b.Line != tt.line || !strings.Contains(b.Reason, tt.reason)) {
				t.Errorf("first bad %+v, want line %d, %q", b, tt.line, tt.reason)
			}
		})
	}
}

// rehash gives a changed line the hash of its bytes, as somebody who knows the
// format would.
func rehash(line string) string {
	body, _, _ := strings.Cut(line, hashPrefix)
	b, _ := seal([]byte(body), 0)
	return strings.TrimSuffix(string(b), "\n")
}

// TestTornCutOut: the record behind a fragment owns up to it, so the fragment
// cannot be taken away, nor one be put in its place twice.
func TestTornCutOut(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir)
	fill(t, dir, 2)
	appendFile(t, l.Path(), "{")
	fill(t, dir, 2)
	lines := readLines(t, l.Path())
	if sum, err := Verify(l.Path()); err != nil || !sum.OK() || len(sum.Torn) != 1 {
		t.Fatalf("Verify = %+v, %v", sum, err)
	}
	writeLines(t, l.Path(), slices.Delete(slices.Clone(lines), 2, 3))
	if sum, err := Verify(l.Path()); err != nil || sum.OK() || sum.FirstBad.Line != 3 {
		t.Errorf("without the fragment: Verify = %+v (%+v), %v", sum, sum.FirstBad, err)
	}
	writeLines(t, l.Path(), slices.Insert(slices.Clone(lines), 2, "{"))
	if sum, err := Verify(l.Path()); err != nil || sum.OK() || sum.FirstBad.Line != 3 {
		t.Errorf("with two: Verify = %+v (%+v), %v", sum, sum.FirstBad, err)
	}
}

// TestEveryBit flips each bit of a log, one at a time. All are found on the
// line where they are, or, where the bit makes or breaks a line, on the one that
// it was part of.
func TestEveryBit(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 3)
	path := filepath.Join(dir, FileName)
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := 1
	for i, c := range log {
		for bit := range 8 {
			if _, err := f.WriteAt([]byte{c ^ 1<<bit}, int64(i)); err != nil {
				t.Fatal(err)
			}
			sum, err := Verify(path)
			if err != nil {
				t.Fatal(err)
			}
			// Of the last newline, what is left is a fragment at the end.
			found := sum.FirstBad != nil && sum.FirstBad.Line == line
			if i == len(log)-1 {
				found = len(sum.Torn) == 1 || sum.Bad > 0
			}
			if !found {
				t.Errorf("bit %d of byte %d (%q), line %d: Verify = %+v, first bad %+v", bit, i, c, line, sum, sum.FirstBad)
			}
		}
		f.WriteAt([]byte{c}, int64(i))
		if c == '\n' {
			line++
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Verify(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("Verify of nothing = %v", err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, fifo} {
		if sum, err := Verify(name); err == nil {
			t.Errorf("Verify(%s) = %+v, want an error", name, sum)
		}
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if sum, err := Verify(empty); err != nil || !sum.OK() || sum.Records != 0 {
		t.Errorf("Verify of an empty log = %+v, %v", sum, err)
	}
}

// FuzzVerify: nothing that a file can hold makes Verify or the next Append fail,
// and the record behind it is a good one.
func FuzzVerify(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("{"))
	f.Add([]byte("\n\n"))
	line, _ := seal(encode(nil, &Record{Seq: 1, Prev: genesis}), 0)
	f.Add(line)
	f.Add(line[:len(line)-1])
	f.Fuzz(func(t *testing.T, log []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, FileName)
		if err := os.WriteFile(path, log, 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := Verify(path)
		if err != nil {
			t.Fatal(err)
		}
		l := openLog(t, dir)
		if err := l.Append(&Record{}); err != nil {
			t.Fatal(err)
		}
		after, err := Verify(path)
		if err != nil || after.Records != before.Records+1 {
			t.Errorf("records: %d, then %d, %v", before.Records, after.Records, err)
		}
		if before.OK() && !after.OK() {
			t.Errorf("a good log became a bad one: %+v, then %+v (%+v)", before, after, after.FirstBad)
		}
		if !before.OK() && after.OK() {
			t.Errorf("a bad log became a good one: %+v (%+v), then %+v", before, before.FirstBad, after)
		}
	})
}

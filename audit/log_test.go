package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// helpers are what the test binary does when it is started again.
var helpers = map[string]func(args []string) error{
	"append":   helpAppend,
	"holdlock": helpHoldLock,
}

func TestMain(m *testing.M) {
	name, ok := os.LookupEnv("AUDIT_TEST_HELPER")
	if !ok {
		os.Exit(m.Run())
	}
	help, ok := helpers[name]
	if !ok {
		fmt.Println("unknown helper", name)
		os.Exit(2)
	}
	if err := help(os.Args[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("done")
}

// helper is a command that runs this binary as a helper. It must exit 0 and
// print "done" last.
func helper(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), "AUDIT_TEST_HELPER="+name)
	return cmd
}

func mustRun(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "done\n") {
		t.Errorf("%v: %v\n%s", cmd.Args, err, out)
	}
}

func TestAppend(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "wrap")
	a := openLog(t, dir)
	b := openLog(t, dir)
	for i, l := range []*Log{a, b, b, a} {
		r := full()
		r.Time = ""
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
		if r.Seq != uint64(i+1) || r.Time == "" || !strings.HasSuffix(r.Time, "Z") {
			t.Errorf("record %d got seq %d, time %q", i, r.Seq, r.Time)
		}
	}
	sum, err := Verify(a.Path())
	if err != nil || !sum.OK() || sum.Records != 4 || sum.Seq != 4 {
		t.Errorf("Verify = %+v, %v", sum, err)
	}
	for name, want := range map[string]fs.FileMode{a.Path(): 0o600, dir: 0o700 | fs.ModeDir, filepath.Dir(dir): 0o700 | fs.ModeDir} {
		st, err := os.Stat(name)
		if err != nil || st.Mode() != want {
			t.Errorf("%s has mode %v, %v, want %v", name, st.Mode(), err, want)
		}
	}
}

// TestParallel is row G01: 20 processes of 500 records each, from 100 bytes to
// some 64 KiB, into one log.
func TestParallel(t *testing.T) {
	const procs, records = 20, 500
	dir := t.TempDir()
	var cmds []*exec.Cmd
	for p := range procs {
		cmd := helper(t, "append", dir, strconv.Itoa(p), strconv.Itoa(records))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	path := filepath.Join(dir, FileName)
	sum, err := Verify(path)
	if err != nil || !sum.OK() || sum.Records != procs*records || len(sum.Torn) != 0 {
		t.Errorf("Verify = %+v (first bad %+v), %v, want %d good records", sum, sum.FirstBad, err, procs*records)
	}
	seen := make(map[string]bool)
	for _, line := range readLines(t, path) {
		_, after, _ := strings.Cut(line, `"call":"`)
		mark, _, _ := strings.Cut(after, `"`)
		seen[mark] = true
	}
	if len(seen) != procs*records {
		t.Errorf("%d markers of %d are there", len(seen), procs*records)
	}
}

func helpAppend(args []string) error {
	l, err := Open(args[0])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	for i := range n {
		r := &Record{Kind: Decision, Call: args[1] + "-" + strconv.Itoa(i)}
		if i%100 == 7 {
			r.Notes = make([]string, 16)
			for k := range r.Notes {
				r.Notes[k] = strings.Repeat("x", MaxString)
			}
		}
		if err := l.Append(r); err != nil {
			return err
		}
	}
	return nil
}

// TestTorn is row G03 and more: what a crash broke off neither swallows the next
// record nor counts as tampering.
func TestTorn(t *testing.T) {
	long := strings.Repeat("y", 3*firstTail)
	for _, tt := range []struct {
		name, tail string
		torn       []int
		record     int // torn of the record that follows
	}{
		{"fragment", `{"schema":1,"se`, []int{4}, 1},
		{"one byte", "{", []int{4}, 1},
		{"fragment longer than the first look", `{"schema":1` + long, []int{4}, 1},
		{"two, the first one closed by the second", "{\"a\":1\n{\"schema", []int{4, 5}, 2},
		{"nothing", "", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, 3)
			l := openLog(t, dir)
			appendFile(t, l.Path(), tt.tail)
			sum, err := Verify(l.Path())
			if err != nil || !sum.OK() || fmt.Sprint(sum.Torn) != fmt.Sprint(tt.torn) {
				t.Errorf("before: Verify = %+v (%+v), %v", sum, sum.FirstBad, err)
			}
			r := &Record{Kind: Outcome}
			if err := l.Append(r); err != nil {
				t.Fatal(err)
			}
			if r.Seq != 4 || r.Torn != tt.record {
				t.Errorf("the next record has seq %d, torn %d, want 4, %d", r.Seq, r.Torn, tt.record)
			}
			if err := l.Append(&Record{Kind: Outcome}); err != nil {
				t.Fatal(err)
			}
			sum, err = Verify(l.Path())
			if err != nil || !sum.OK() || sum.Records != 5 || fmt.Sprint(sum.Torn) != fmt.Sprint(tt.torn) {
				t.Errorf("after: Verify = %+v (%+v), %v, want 5 records, torn %v", sum, sum.FirstBad, err, tt.torn)
			}
		})
	}
	t.Run("a record that lacks only its newline", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, 3)
		l := openLog(t, dir)
		st, _ := os.Stat(l.Path())
		if err := os.Truncate(l.Path(), st.Size()-1); err != nil {
			t.Fatal(err)
		}
		r := &Record{}
		if err := l.Append(r); err != nil || r.Seq != 4 || r.Torn != 0 {
			t.Fatalf("Append = %v, seq %d, torn %d", err, r.Seq, r.Torn)
		}
		if sum, err := Verify(l.Path()); err != nil || !sum.OK() || sum.Records != 4 || len(sum.Torn) > 0 {
			t.Errorf("Verify = %+v, %v", sum, err)
		}
	})
	t.Run("a fragment alone", func(t *testing.T) {
		dir := t.TempDir()
		l := openLog(t, dir)
		appendFile(t, l.Path(), "{")
		r := &Record{}
		if err := l.Append(r); err != nil || r.Seq != 1 || r.Torn != 1 {
			t.Fatalf("Append = %v, seq %d, torn %d", err, r.Seq, r.Torn)
		}
		if sum, err := Verify(l.Path()); err != nil || !sum.OK() || sum.Records != 1 || len(sum.Torn) != 1 {
			t.Errorf("Verify = %+v, %v", sum, err)
		}
	})
}

// TestEditedTail: the writer goes on behind an edit, and does not excuse it.
func TestEditedTail(t *testing.T) {
	dir := t.TempDir()
	lines := fill(t, dir, 3)
	lines[2] = strings.Replace(lines[2], `"tool":"cat"`, `"tool":"cut"`, 1)
	path := filepath.Join(dir, FileName)
	writeLines(t, path, lines)
	fill(t, dir, 2)
	sum, err := Verify(path)
	if err != nil || sum.OK() || sum.FirstBad.Line != 3 || sum.Records != 4 {
		t.Errorf("Verify = %+v (%+v), %v, want line 3 bad", sum, sum.FirstBad, err)
	}
}

// TestEditThenCrash: an edit is not excused by the fragment behind it.
func TestEditThenCrash(t *testing.T) {
	dir := t.TempDir()
	lines := fill(t, dir, 3)
	lines[2] = strings.Replace(lines[2], `"tool":"cat"`, `"tool":"cut"`, 1)
	l := openLog(t, dir)
	writeLines(t, l.Path(), lines)
	appendFile(t, l.Path(), "{")
	r := &Record{}
	if err := l.Append(r); err != nil || r.Torn != 1 {
		t.Errorf("Append = %v, torn %d, want 1", err, r.Torn)
	}
	if sum, err := Verify(l.Path()); err != nil || sum.OK() || sum.FirstBad.Line != 3 || fmt.Sprint(sum.Torn) != "[4]" {
		t.Errorf("Verify = %+v (%+v), %v, want line 3 bad, 4 torn", sum, sum.FirstBad, err)
	}
}

// TestBusy: a log that others write to all the time is waited for.
func TestBusy(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir)
	other, err := os.OpenFile(l.Path(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer other.Close() // and with it the lock
		tick := time.NewTicker(patience / 10)
		defer tick.Stop()
		for range 25 {
			<-tick.C
			other.WriteString("x")
		}
	}()
	if err := l.Append(&Record{}); err != nil {
		t.Errorf("Append = %v, want the record written in its turn", err)
	}
}

// TestMoved: a log that is renamed or removed under an open Log is let go of.
func TestMoved(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir)
	if err := l.Append(&Record{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(l.Path(), l.Path()+".1"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Append(&Record{}); err != nil {
			t.Fatal(err)
		}
	}
	if sum, err := Verify(l.Path()); err != nil || !sum.OK() || sum.Records != 2 {
		t.Errorf("Verify of the new log = %+v, %v", sum, err)
	}
	if err := os.Remove(l.Path()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(l.Path()+".1", l.Path()); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(&Record{}); !errors.Is(err, unix.ELOOP) {
		t.Errorf("Append through a link = %v, want ELOOP", err)
	}
	if sum, err := Verify(l.Path() + ".1"); err != nil || sum.Records != 1 {
		t.Errorf("the link's target holds %+v, %v", sum, err)
	}
}

// TestOpenRefuses is row G04's second half, and what else could stand there.
func TestOpenRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(dir, file string) error
		want error
	}{
		{"directory", func(_, file string) error { return os.Mkdir(file, 0o700) }, unix.EISDIR},
		{"symlink", func(dir, file string) error {
			return errors.Join(os.WriteFile(dir+"/t", nil, 0o600), os.Symlink(dir+"/t", file))
		}, unix.ELOOP},
		{"dangling symlink", func(dir, file string) error { return os.Symlink(dir+"/t", file) }, unix.ELOOP},
		{"FIFO", func(_, file string) error { return unix.Mkfifo(file, 0o600) }, ErrUnsafe},
		{"somebody else's file", func(_, file string) error {
			return errors.Join(os.WriteFile(file, nil, 0o600), chown(file))
		}, ErrUnsafe},
		{"somebody else's directory", func(dir, _ string) error { return chown(dir) }, ErrUnsafe},
		{"directory is a file", func(dir, _ string) error {
			return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600))
		}, unix.ENOTDIR},
		{"directory is a symlink", func(dir, _ string) error {
			return errors.Join(os.Rename(dir, dir+"x"), os.Symlink(dir+"x", dir))
		}, unix.ENOTDIR}, // Linux: O_DIRECTORY comes before O_NOFOLLOW
		{"control", func(_, file string) error { return os.WriteFile(file, nil, 0o644) }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "wrap")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			err := tt.make(dir, filepath.Join(dir, FileName))
			if errors.Is(err, errNotRoot) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			l, err := Open(dir)
			if !errors.Is(err, tt.want) {
				t.Fatalf("Open = %v, want %v", err, tt.want)
			}
			if err != nil {
				if _, ok := errors.AsType[*fs.PathError](err); !ok {
					t.Errorf("error is a %T, want an *fs.PathError", err)
				}
				return
			}
			defer l.Close()
			for name, want := range map[string]fs.FileMode{dir: 0o700, l.Path(): 0o600} {
				if st, err := os.Stat(name); err != nil || st.Mode().Perm() != want {
					t.Errorf("%s is left with mode %v, %v, want %v", name, st.Mode(), err, want)
				}
			}
		})
	}
}

var errNotRoot = errors.New("needs root, to give a file away")

func chown(name string) error {
	if os.Geteuid() != 0 {
		return errNotRoot
	}
	return os.Chown(name, 12345, 12345)
}

// TestLocked: somebody who sits on the lock delays a call once.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir)
	other, err := os.Open(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	r := &Record{}
	if err := l.Append(r); !errors.Is(err, ErrBusy) {
		t.Errorf("Append = %v, want ErrBusy", err)
	}
	if !l.hopeless {
		t.Error("the next Append would wait again")
	}
	if err := l.Append(r); !errors.Is(err, ErrBusy) {
		t.Errorf("second Append = %v, want ErrBusy", err)
	}
	if err := unix.Flock(int(other.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(r); err != nil || l.hopeless || r.Seq != 1 {
		t.Errorf("Append after the lock is free = %v, hopeless %v, seq %d", err, l.hopeless, r.Seq)
	}
}

// TestKilledHolder: the lock dies with its holder.
func TestKilledHolder(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir)
	cmd := helper(t, "holdlock", l.Path())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(&Record{}); !errors.Is(err, ErrBusy) {
		t.Errorf("Append while held = %v, want ErrBusy", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if err := l.Append(&Record{}); err != nil {
		t.Errorf("Append after the holder died = %v", err)
	}
}

func helpHoldLock(args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	fmt.Print("h")
	time.Sleep(time.Minute) // until killed
	return nil
}

func appendFile(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	l, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for b.Loop() {
		if err := l.Append(full()); err != nil {
			b.Fatal(err)
		}
	}
}

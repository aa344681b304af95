package breaker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var helpers = map[string]func(dir string) error{
	"probe":   helpProbe,
	"failing": helpFailing,
}

func TestMain(m *testing.M) {
	name, ok := os.LookupEnv("BREAKER_TEST_HELPER")
	if !ok {
		os.Exit(m.Run())
	}
	help, ok := helpers[name]
	if !ok {
		fmt.Println("unknown helper", name)
		os.Exit(2)
	}
	if err := help(os.Args[1]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func helper(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, dir)
	cmd.Env = append(os.Environ(), "BREAKER_TEST_HELPER="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

var testKey = Key{Module: "sort", Dev: 1, Ino: 2, Root: "/r"}

// world is a Breaker whose clock and processes are made up.
type world struct {
	t    *testing.T
	dir  string
	b    *Breaker
	now  time.Time
	boot string
	dead map[int]bool
	pid  int
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, dir: filepath.Join(t.TempDir(), "breaker"), boot: "b1", pid: 100,
		now: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), dead: make(map[int]bool),
	}
	w.b = Open(w.dir, Options{
		now:   func() time.Time { return w.now },
		self:  func() process { return process{PID: w.pid, Start: 7, Boot: w.boot} },
		alive: func(p process) bool { return !w.dead[p.PID] },
	})
	return w
}

func (w *world) admit() *Ticket {
	w.t.Helper()
	t, err := w.b.Admit(testKey, 0)
	if err != nil {
		w.t.Fatalf("Admit = %v, want a ticket", err)
	}
	if t.Warning != nil {
		w.t.Fatalf("Admit warns: %v", t.Warning)
	}
	return t
}

func (w *world) refused() *OpenError {
	w.t.Helper()
	_, err := w.b.Admit(testKey, 0)
	open, ok := errors.AsType[*OpenError](err)
	if !ok || !errors.Is(err, ErrOpen) || open.RetryAfter <= 0 {
		w.t.Fatalf("Admit = %v, want an *OpenError with a time to come back", err)
	}
	return open
}

func (w *world) report(t *Ticket, c Class) {
	w.t.Helper()
	if err := t.Report(c, "died of SEGV"); err != nil {
		w.t.Fatalf("Report(%v) = %v", c, err)
	}
}

// fail runs n failing calls, one after the other.
func (w *world) fail(n int) {
	w.t.Helper()
	for range n {
		w.report(w.admit(), Failure)
	}
}

// state is "closed 3", the state of the circuit and its row of failures.
func (w *world) state() string {
	w.t.Helper()
	list, err := w.b.List()
	if err != nil || len(list) > 1 {
		w.t.Fatalf("List = %+v, %v", list, err)
	}
	if len(list) == 0 {
		return "absent"
	}
	if list[0].Err != nil {
		return "unreadable"
	}
	return fmt.Sprint(list[0].State, " ", list[0].Failures)
}

func (w *world) want(state string) {
	w.t.Helper()
	if got := w.state(); got != state {
		w.t.Errorf("state is %q, want %q", got, state)
	}
}

const wait = 30 * time.Second

func TestOpens(t *testing.T) {
	w := newWorld(t)
	w.fail(4)
	w.want("closed 4")
	w.fail(1)
	w.want("open 5")
	e := w.refused()
	want := &OpenError{Module: "sort", Failures: 5, Last: "died of SEGV", RetryAfter: wait, Until: w.now.Add(wait)}
	if !e.Until.Equal(want.Until) || e.RetryAfter != want.RetryAfter || e.Failures != want.Failures || e.Last != want.Last || e.Probe {
		t.Errorf("error is %+v, want %+v", e, want)
	}
	if got, want := e.Error(), "circuit open: sort failed 5 times in a row (last: died of SEGV); the next try is allowed in 30s"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	w.now = w.now.Add(wait - 1)
	if e := w.refused(); e.RetryAfter != 1 || !strings.HasSuffix(e.Error(), "in 1s") {
		t.Errorf("a moment before the end: %v, %v", e.RetryAfter, e)
	}
	w.now = w.now.Add(1)
	if tk := w.admit(); !tk.Probe {
		t.Error("the first call after the window is no probe")
	}
}

// TestClasses is every class in every state.
func TestClasses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		class Class
		setup func(w *world) *Ticket
		want  string
	}{
		{"excluded, never failed", Excluded, (*world).admit, "absent"},
		{"success, never failed", Success, (*world).admit, "absent"},
		{"failure, never failed", Failure, (*world).admit, "closed 1"},
		{"excluded, in a row", Excluded, inRow, "closed 4"},
		{"success, in a row", Success, inRow, "absent"},
		{"failure, in a row", Failure, inRow, "open 5"},
		{"excluded probe", Excluded, probe, "half-open 5"},
		{"successful probe", Success, probe, "closed 0"},
		{"failed probe", Failure, probe, "open 6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.report(tt.setup(w), tt.class)
			w.want(tt.want)
		})
	}
}

func inRow(w *world) *Ticket {
	w.fail(4)
	return w.admit()
}

func probe(w *world) *Ticket {
	w.t.Helper()
	w.fail(5)
	w.now = w.now.Add(wait)
	tk := w.admit()
	if !tk.Probe {
		w.t.Fatal("not a probe")
	}
	return tk
}

// TestExcludedWritesNothing: 1,000 calls that do not count leave the file as it
// is, to the inode, or absent, with the directory.
func TestExcludedWritesNothing(t *testing.T) {
	for _, failures := range []int{0, 3} {
		w := newWorld(t)
		w.fail(failures)
		before := snapshot(t, w.dir)
		for range 1000 {
			w.report(w.admit(), Excluded)
		}
		if after := snapshot(t, w.dir); after != before {
			t.Errorf("after %d failures: files were %q, are %q", failures, before, after)
		}
	}
}

// TestSuccessWritesNothing: nor does a success that ends no row.
func TestSuccessWritesNothing(t *testing.T) {
	w := newWorld(t)
	before := snapshot(t, w.dir)
	w.report(w.admit(), Success)
	if after := snapshot(t, w.dir); after != before || after != "" {
		t.Errorf("files were %q, are %q", before, after)
	}
	w.report(probe(w), Success)
	before = snapshot(t, w.dir)
	for range 10 {
		w.report(w.admit(), Success)
	}
	if after := snapshot(t, w.dir); after != before || after == "" {
		t.Errorf("after a probe: files were %q, are %q", before, after)
	}
	w.fail(1)
	if after := snapshot(t, w.dir); after == before {
		t.Error("snapshot does not see a change")
	}
}

// snapshot names every file beneath dir with its inode, size and time.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil && unix.Lstat(name, &st) == nil {
			fmt.Fprintln(&b, name, st.Ino, st.Size, st.Mtim)
		}
		return nil
	})
	return b.String()
}

// TestExcludedProbe is row E13: a call that does not count gives the probe's
// place back at once.
func TestExcludedProbe(t *testing.T) {
	w := newWorld(t)
	tk := probe(w)
	for range 10 {
		if e := w.refused(); !e.Probe || !strings.Contains(e.Error(), "one call is trying it now") {
			t.Errorf("beside a probe: %v", e)
		}
		w.report(tk, Excluded)
		if tk = w.admit(); !tk.Probe {
			t.Fatal("the next call is no probe")
		}
	}
	w.report(tk, Success)
	w.want("closed 0")
	w.admit()
}

// TestReopens is rows E08 and E09: each failed probe opens for a full window,
// and there is one probe a window.
func TestReopens(t *testing.T) {
	w := newWorld(t)
	w.fail(5)
	spawned := 0
	for range 5 * 30 {
		w.now = w.now.Add(time.Second)
		if tk, err := w.b.Admit(testKey, 0); err == nil {
			spawned++
			w.report(tk, Failure)
		}
	}
	if spawned != 5 {
		t.Errorf("%d probes in 5 windows, want 5", spawned)
	}
	w.want("open 10")
}

// TestDeadHolder is row E06, with made-up processes.
func TestDeadHolder(t *testing.T) {
	w := newWorld(t)
	first := probe(w)
	w.refused()
	w.dead[w.pid] = true
	w.pid++
	second := w.admit()
	if !second.Probe {
		t.Fatal("the place of a dead probe was not taken over")
	}
	w.report(first, Failure) // from the grave
	w.want("half-open 5")
	w.report(second, Success)
	w.want("closed 0")
}

// TestHungHolder is rows E07 and E18: a probe that does not end loses its place
// when its time is over, and its late result is ignored.
func TestHungHolder(t *testing.T) {
	w := newWorld(t)
	first := probe(w)
	w.now = w.now.Add(wait - 1)
	w.refused()
	list, err := w.b.List()
	if err != nil || list[0].Holder != w.pid || w.now.Sub(list[0].HeldSince) != wait-1 || list[0].RetryAfter != 1 {
		t.Errorf("List = %+v, %v", list, err)
	}
	w.now = w.now.Add(1)
	second := w.admit()
	if !second.Probe {
		t.Fatal("the place was not taken over")
	}
	w.report(first, Success)
	w.want("half-open 5")
	w.report(second, Failure)
	w.want("open 6")
}

// TestProbeLimit: a probe that was given more time than the window has it.
func TestProbeLimit(t *testing.T) {
	w := newWorld(t)
	w.fail(5)
	w.now = w.now.Add(wait)
	if tk, err := w.b.Admit(testKey, time.Hour); err != nil || !tk.Probe {
		t.Fatalf("Admit = %+v, %v", tk, err)
	}
	w.now = w.now.Add(time.Hour - 1)
	w.refused()
	w.now = w.now.Add(1)
	w.admit()
}

// TestLateResult is row E16.
func TestLateResult(t *testing.T) {
	w := newWorld(t)
	late := w.admit()
	w.report(probe(w), Success)
	w.want("closed 0")
	for range 10 {
		w.report(late, Failure)
	}
	w.want("closed 0")
	w.fail(1) // control
	w.want("closed 1")
	w.report(late, Success)
	w.want("closed 1")
}

// TestOverlapping: calls that run at the same time are all counted, up to the
// one that opens the circuit.
func TestOverlapping(t *testing.T) {
	w := newWorld(t)
	var tickets []*Ticket
	for range 8 {
		tickets = append(tickets, w.admit())
	}
	for i, tk := range tickets {
		w.report(tk, Failure)
		if i == 3 {
			w.want("closed 4")
		}
	}
	w.want("open 5")
}

// TestClock is row E12: no step of the clock locks a tool or holds it back for
// more than one window.
func TestClock(t *testing.T) {
	for _, tt := range []struct {
		name string
		step time.Duration
	}{
		{"back a second", -time.Second},
		{"back an hour", -time.Hour},
		{"back 20 years", -20 * 365 * 24 * time.Hour},
		{"on a second", time.Second},
		{"on a day", 24 * time.Hour},
		{"on 20 years", 20 * 365 * 24 * time.Hour},
	} {
		for _, state := range []string{"open", "half-open"} {
			t.Run(tt.name+", "+state, func(t *testing.T) {
				w := newWorld(t)
				if state == "open" {
					w.fail(5)
				} else {
					probe(w)
				}
				w.now = w.now.Add(tt.step)
				waited := time.Duration(0)
				for {
					_, err := w.b.Admit(testKey, 0)
					if err == nil {
						break
					}
					if waited > wait {
						t.Fatalf("still refused %v after the step: %v", waited, err)
					}
					waited += time.Second
					w.now = w.now.Add(time.Second)
				}
				if tt.step < 0 && waited < wait {
					t.Errorf("let in %v after a step back, want a whole window", waited)
				}
			})
		}
	}
}

// TestReboot: a window, and a place, of before are over.
func TestReboot(t *testing.T) {
	w := newWorld(t)
	w.fail(5)
	w.boot = "b2"
	if !w.admit().Probe {
		t.Error("no probe after a reboot")
	}
	w.refused()
	w.boot = "b3"
	if !w.admit().Probe {
		t.Error("no probe after another")
	}
}

// TestKeys: each field of the key names another circuit.
func TestKeys(t *testing.T) {
	w := newWorld(t)
	w.fail(5)
	for _, k := range []Key{
		{Module: "sor", Dev: 1, Ino: 2, Root: "/r"},
		{Module: "sort", Dev: 2, Ino: 2, Root: "/r"},
		{Module: "sort", Dev: 1, Ino: 3, Root: "/r"},
		{Module: "sort", Dev: 1, Ino: 2, Root: "/"},
		{Module: "sort", Dev: 1, Ino: 2, Root: "/r", Class: "mcp"},
		{Module: "sort", Dev: 1, Ino: 2, Root: "", Class: "/r"},
	} {
		if _, err := w.b.Admit(k, 0); err != nil {
			t.Errorf("Admit(%+v) = %v", k, err)
		}
	}
	w.refused()
	same := testKey
	same.Path = "/usr/bin/sort"
	if _, err := w.b.Admit(same, 0); !errors.Is(err, ErrOpen) {
		t.Errorf("Admit with a path = %v, want it open: the file is the same", err)
	}
	// A root that is not UTF-8 is a circuit like any other.
	bad := Key{Module: "sort", Root: "/\xff"}
	for range 5 {
		tk, err := w.b.Admit(bad, 0)
		if err != nil || tk.Warning != nil {
			t.Fatal(err, tk)
		}
		if err := tk.Report(Failure, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.b.Admit(bad, 0); !errors.Is(err, ErrOpen) {
		t.Errorf("Admit = %v, want it open", err)
	}
	if tk, err := w.b.Admit(Key{Module: "sort", Root: "/\ufffd"}, 0); err != nil || tk.Warning != nil {
		t.Errorf("its neighbour: %v", err)
	}
}

func TestMessageEscapes(t *testing.T) {
	e := &OpenError{Module: "a\x1b[31m", Failures: 5, Last: "b\nc\u202e", RetryAfter: 90*time.Second + 1}
	if got, want := e.Error(), `circuit open: a\x1b[31m failed 5 times in a row (last: b\nc\u202e); the next try is allowed in 1m31s`; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

// TestBadState: whatever stands where the state should be, the call runs, is
// told of it, and the next failure starts a new row, but for a newer version's.
func TestBadState(t *testing.T) {
	good := func() string {
		w := newWorld(t)
		w.fail(5)
		b, err := os.ReadFile(filepath.Join(w.dir, file(testKey)))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}()
	text := func(s string) func(string) error {
		return func(name string) error { return os.WriteFile(name, []byte(s), 0o600) }
	}
	edit := func(old, by string) func(string) error {
		if !strings.Contains(good, old) {
			t.Fatalf("no %s in %s", old, good)
		}
		return text(strings.Replace(good, old, by, 1))
	}
	for _, tt := range []struct {
		name  string
		make  func(name string) error
		want  error
		after string
	}{
		{"empty", text(""), ErrCorrupt, "closed 1"},
		{"not JSON", text("{"), ErrCorrupt, "closed 1"},
		{"empty object", text("{}"), ErrCorrupt, "closed 1"},
		{"null", text("null"), ErrCorrupt, "closed 1"},
		{"trailing data", text(good + "{}"), ErrCorrupt, "closed 1"},
		{"huge", text(good + strings.Repeat(" ", maxFile)), ErrCorrupt, "closed 1"},
		{"another circuit's", edit(`"id":"`, `"id":"0`), ErrCorrupt, "closed 1"},
		{"unknown state", edit(`"open"`, `"ajar"`), ErrCorrupt, "closed 1"},
		{"no generation", edit(`"generation":2`, `"generation":0`), ErrCorrupt, "closed 1"},
		{"negative row", edit(`"failures":5`, `"failures":-5`), ErrCorrupt, "closed 1"},
		{"endless window", edit(`"until":"2026`, `"until":"2926`), ErrCorrupt, "closed 1"},
		{"open with a lease", edit(`"boot"`, `"lease":{},"boot"`), ErrCorrupt, "closed 1"},
		{"newer version", edit(`"version":1`, `"version":2`), errFuture, "unreadable"},
		{"symlink", func(name string) error {
			return errors.Join(text(good)(name+".x"), os.Symlink(name+".x", name))
		}, unix.ELOOP, "closed 1"},
		{"FIFO", func(name string) error { return unix.Mkfifo(name, 0o600) }, ErrUnsafe, "closed 1"},
		{"somebody else's", func(name string) error {
			if os.Geteuid() != 0 {
				return errNotRoot
			}
			return errors.Join(text(good)(name), os.Chown(name, 12345, 12345))
		}, ErrUnsafe, "closed 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if err := os.Mkdir(w.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			err := tt.make(filepath.Join(w.dir, file(testKey)))
			if errors.Is(err, errNotRoot) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			tk, err := w.b.Admit(testKey, 0)
			if err != nil {
				t.Fatalf("Admit = %v, want a ticket with a warning", err)
			}
			if !errors.Is(tk.Warning, tt.want) {
				t.Errorf("warning is %v, want %v", tk.Warning, tt.want)
			}
			if list, err := w.b.List(); err != nil || len(list) != 1 || !errors.Is(list[0].Err, tt.want) {
				t.Errorf("List = %+v, %v", list, err)
			}
			err = tk.Report(Failure, "x")
			if tt.want == errFuture {
				if !errors.Is(err, errFuture) {
					t.Errorf("Report = %v, want errFuture", err)
				}
			} else if err != nil {
				t.Errorf("Report = %v", err)
			}
			w.want(tt.after)
			if st, err := os.Stat(w.dir); err != nil || st.Mode().Perm() != 0o700 {
				t.Errorf("directory is left with mode %v, %v, want it narrowed", st.Mode(), err)
			}
			if tt.want == errFuture {
				if err := tk.Report(Success, ""); !errors.Is(err, errFuture) {
					t.Errorf("Report(Success) = %v, want errFuture", err)
				}
				w.want(tt.after)
			}
		})
	}
	t.Run("control", func(t *testing.T) {
		w := newWorld(t)
		w.fail(1)
		if err := text(good)(filepath.Join(w.dir, file(testKey))); err != nil {
			t.Fatal(err)
		}
		w.refused()
	})
	t.Run("success removes", func(t *testing.T) {
		w := newWorld(t)
		w.fail(1)
		if err := text("{")(filepath.Join(w.dir, file(testKey))); err != nil {
			t.Fatal(err)
		}
		tk, err := w.b.Admit(testKey, 0)
		if err != nil || tk.Warning == nil {
			t.Fatal(err, tk)
		}
		w.report(tk, Success)
		w.want("absent")
	})
}

var errNotRoot = errors.New("needs root, to give a file away")

// TestBadDirectory: no place to keep state is no reason to refuse a call.
func TestBadDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tk, err := Open(dir, Options{}).Admit(testKey, 0)
	if err != nil || !errors.Is(tk.Warning, unix.ENOTDIR) {
		t.Fatalf("Admit = %+v, %v", tk, err)
	}
	if err := tk.Report(Failure, ""); err == nil {
		t.Error("Report found a place")
	}
}

// TestLocked: somebody who sits on the lock costs a call its counting, not more.
func TestLocked(t *testing.T) {
	w := newWorld(t)
	w.fail(5)
	w.refused() // needs no lock
	unlock, err := w.b.store.lock()
	if err != nil {
		t.Fatal(err)
	}
	w.refused()
	w.now = w.now.Add(wait)
	tk, err := w.b.Admit(testKey, 0)
	if err != nil || !errors.Is(tk.Warning, ErrBusy) {
		t.Fatalf("Admit = %+v, %v, want a ticket with ErrBusy", tk, err)
	}
	if err := tk.Report(Failure, ""); err != nil {
		t.Errorf("Report of a ticket that is not counted = %v", err)
	}
	w.want("open 5")
	unlock()
	if tk := w.admit(); !tk.Probe {
		t.Error("no probe with the lock free")
	}
}

// TestBusy: where others report all the time, a call waits for its turn.
func TestBusy(t *testing.T) {
	w := newWorld(t)
	w.fail(4)
	tk := w.admit()
	unlock, err := w.b.store.lock()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer unlock()
		tick := time.NewTicker(patience / 10)
		defer tick.Stop()
		for i := range 25 {
			<-tick.C
			os.WriteFile(filepath.Join(w.dir, fmt.Sprint(i)), nil, 0o600)
		}
	}()
	w.report(tk, Failure)
	w.want("open 5")
}

func TestNoTicket(t *testing.T) {
	var none *Ticket
	if err := none.Report(Failure, ""); err != nil {
		t.Errorf("Report of no ticket = %v", err)
	}
}

// shortly is a Breaker with real clock and processes whose windows are over soon.
func shortly(dir string) *Breaker { return Open(dir, Options{Window: time.Nanosecond}) }

func openFor(t *testing.T, b *Breaker) {
	t.Helper()
	for range 5 {
		tk, err := b.Admit(testKey, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := tk.Report(Failure, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOneProbe is row E14: of 50 processes, one is admitted.
func TestOneProbe(t *testing.T) {
	dir := t.TempDir()
	openFor(t, shortly(dir))
	var cmds []*exec.Cmd
	admitted := 0
	var outs []interface{ Read([]byte) (int, error) }
	for range 50 {
		cmd := helper(t, "probe", dir)
		// The helpers stay until stdin is closed: a probe that ended without a
		// report would rightly be followed by another.
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	for _, out := range outs {
		b := make([]byte, 1)
		if _, err := out.Read(b); err != nil {
			t.Fatal(err)
		}
		switch b[0] {
		case 'a':
			admitted++
		case 'r':
		default:
			t.Errorf("a helper says %q", b)
		}
	}
	if admitted != 1 {
		t.Errorf("%d of 50 processes probe, want 1", admitted)
	}
	for _, cmd := range cmds {
		cmd.Process.Kill()
		cmd.Wait()
	}
	// Row E06: they were killed, the probe among them.
	if tk, err := Open(dir, Options{}).Admit(testKey, 0); err != nil || !tk.Probe {
		t.Errorf("after the holder was killed: Admit = %+v, %v, want a probe", tk, err)
	}
}

func helpProbe(dir string) error {
	tk, err := Open(dir, Options{}).Admit(testKey, 0)
	switch {
	case err == nil && tk.Probe && tk.Warning == nil:
		fmt.Print("a")
	case errors.Is(err, ErrOpen):
		fmt.Print("r")
	default:
		return fmt.Errorf("%v, %v", tk, err)
	}
	os.Stdin.Read(make([]byte, 1))
	return nil
}

// TestParallelFailures: none of 20 processes' failures is lost.
func TestParallelFailures(t *testing.T) {
	dir := t.TempDir()
	var cmds []*exec.Cmd
	for range 20 {
		cmd := helper(t, "failing", dir)
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
	list, err := Open(dir, Options{}).List()
	if err != nil || len(list) != 1 || list[0].Failures != 200 {
		t.Errorf("List = %+v, %v, want 200 failures", list, err)
	}
}

func helpFailing(dir string) error {
	b := Open(dir, Options{Failures: 1000})
	for range 10 {
		tk, err := b.Admit(testKey, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(tk.Warning, tk.Report(Failure, "")); err != nil {
			return err
		}
	}
	return nil
}

// TestOneProbeInProcess is the same among goroutines.
func TestOneProbeInProcess(t *testing.T) {
	b := Open(t.TempDir(), Options{})
	openFor(t, shortly(b.store.dir))
	got := make(chan bool)
	for range 50 {
		go func() {
			_, err := b.Admit(testKey, 0)
			got <- err == nil
		}()
	}
	admitted := 0
	for range 50 {
		if <-got {
			admitted++
		}
	}
	if admitted != 1 {
		t.Errorf("%d of 50 goroutines probe, want 1", admitted)
	}
}

func TestProcess(t *testing.T) {
	me := self()
	if !me.alive() {
		t.Errorf("%+v is dead", me)
	}
	cmd := helper(t, "failing", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	cmd.Wait()
	if p := (process{PID: pid}); p.alive() {
		t.Errorf("%+v is alive after it was waited for", p)
	}
	if me.Start != 0 {
		me.Start--
		if me.alive() {
			t.Errorf("%+v, which began at another time, is alive", me)
		}
	}
	if (process{}).alive() {
		t.Error("no process is alive")
	}
}

func BenchmarkAdmitHealthy(b *testing.B) {
	br := Open(b.TempDir(), Options{})
	for b.Loop() {
		tk, _ := br.Admit(testKey, 0)
		tk.Report(Success, "")
	}
}

func BenchmarkFailure(b *testing.B) {
	br := Open(b.TempDir(), Options{Failures: 1 << 29})
	for b.Loop() {
		tk, _ := br.Admit(testKey, 0)
		tk.Report(Failure, "")
	}
}

// FuzzState: nothing that a file can hold makes a call fail, or holds it back
// for more than the longest window.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"id":"` + strings.TrimSuffix(file(testKey), suffix) + `","version":1,"state":"open","generation":2,"failures":5,"since":"2026-01-01T00:00:00Z","until":"2026-01-01T00:00:30Z","boot":"b1"}`))
	f.Add([]byte(`{"id":"` + strings.TrimSuffix(file(testKey), suffix) + `","version":1,"state":"half-open","generation":3,"failures":5,"since":"2026-01-01T00:00:00Z","until":"2026-01-01T00:00:00Z","lease":{"token":"x","owner":{"pid":1,"boot":"b1"},"since":"2026-01-01T00:00:00Z","until":"2026-01-01T00:00:30Z"}}`))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		w := newWorld(t)
		if err := os.Mkdir(w.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.dir, file(testKey)), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := w.b.Admit(testKey, 0); err != nil && !errors.Is(err, ErrOpen) {
			t.Fatal(err)
		}
		w.now = w.now.Add(maxWindow)
		tk, err := w.b.Admit(testKey, 0)
		if err != nil {
			t.Fatalf("still refused: %v", err)
		}
		tk.Report(Failure, "")
		if _, err := w.b.List(); err != nil {
			t.Fatal(err)
		}
	})
}

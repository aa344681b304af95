package exec

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTimeoutEndsTree (reports D02, D03, D16, D17): whatever shape a tree has,
// when its time is over all of it is.
func TestTimeoutEndsTree(t *testing.T) {
	lines := []struct{ name, line string }{
		{"plain", "sleep 300"},
		{"no exec optimisation", "sleep 300; true"},
		{"background", "sleep 300 & wait"},
		{"subshell", "(sleep 300)"},
		{"pipe", "sleep 300 | cat"},
		{"grandchildren, one that traps", `sh -c "sleep 300" & sh -c "trap : TERM; sleep 300"; sleep 300`},
		{"all ignore TERM", `trap "" TERM; sleep 300 & sleep 300; sleep 300`},
		{"nested timeout", "timeout 300 sh -c 'sleep 300 & sleep 300'"},
		{"new session", "setsid sleep 300 & wait"},
		{"daemon", "setsid sh -c 'setsid sleep 300 & exit' & wait; sleep 300"},
		{"daemon that ignores TERM", `trap "" TERM; setsid sh -c 'setsid sleep 300 & exit' & sleep 300`},
		{"stopped", `kill -STOP $$; sleep 300`},
	}
	for _, shell := range []string{"bash", "dash"} {
		for _, tt := range lines {
			t.Run(shell+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				mark := mark(t)
				out := launch(t, launchSpec{
					Argv: []string{needProgram(t, shell), "-c", tt.line}, Env: testEnv(mark),
					Timeout: 300 * time.Millisecond, Grace: 200 * time.Millisecond,
				})
				if out.Outcome.Kind != TimedOut || out.exit != 124 || out.Survivors != 0 {
					t.Errorf("%q: exit %d, %+v, want 124 and %s", tt.line, out.exit, out, TimedOut)
				}
				wantNone(t, mark)
			})
		}
	}
}

// TestLeftBehind: a child that ends by itself leaves nothing behind, unless it
// was asked to, and its own end is what is reported.
func TestLeftBehind(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		keep       bool
		left       int
	}{
		{"nothing", "exit 4", false, 0},
		{"background", "sleep 300 & exit 4", false, 1},
		{"three", "sleep 300 & sleep 300 & setsid sleep 300 & exit 4", false, 3},
		{"ignores TERM", `trap "" TERM; sleep 300 & exit 4`, false, 1},
		{"kept", "sleep 300 & exit 4", true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mark := mark(t)
			x := launchCommand(t, launchSpec{
				Argv: []string{"/bin/sh", "-c", tt.line + " >/dev/null"}, Env: testEnv(mark), Keep: tt.keep,
				Grace: 100 * time.Millisecond,
			})
			x.cmd.Stdout, x.cmd.Stderr = nil, nil // no pipe for the kept one to hold
			x.start()
			if tt.keep {
				b := make([]byte, 4096)
				n, _ := x.result.Read(b)
				x.cmd.Wait()
				if x.cmd.ProcessState.ExitCode() != 4 || !strings.Contains(string(b[:n]), `"left_behind":1`) {
					t.Errorf("%v, %s, want exit 4 and one left behind", x.cmd.ProcessState, b[:n])
				}
				alive := marked(t, mark)
				if len(alive) != 1 {
					t.Fatalf("alive: %q, want the one that was kept", alive)
				}
				pid, _ := strconv.Atoi(strings.Fields(alive[0])[0])
				syscall.Kill(pid, syscall.SIGKILL)
				return
			}
			if out := x.wait(); out.exit != 4 || out.Outcome.Kind != Exited || out.Outcome.LeftBehind != tt.left || out.Survivors != 0 {
				t.Errorf("exit %d, %+v, want exit 4 and %d left behind", out.exit, out, tt.left)
			}
			wantNone(t, mark)
		})
	}
}

// TestHoppers: processes that each start a successor in a session of its own
// and exit, so that none is where it was seen. TERM does nothing to them.
func TestHoppers(t *testing.T) {
	dir := t.TempDir()
	stop := filepath.Join(dir, "stop")
	t.Cleanup(func() { os.WriteFile(stop, nil, 0o600) }) // if we fail to end them
	script := filepath.Join(dir, "hop")
	if err := os.WriteFile(script, []byte("[ -e "+stop+" ] && exit\nsetsid sh $0 &\nexit 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"exit 0", "sleep 300"} {
		t.Run(end, func(t *testing.T) {
			mark := mark(t)
			out := launch(t, launchSpec{
				Argv: []string{"/bin/sh", "-c", `trap "" TERM; ` + strings.Repeat("setsid sh "+script+" & ", 6) + end},
				Env:  testEnv(mark), Timeout: 400 * time.Millisecond, Grace: 100 * time.Millisecond,
			})
			if out.Survivors != 0 || (end == "exit 0") != (out.Outcome.Kind == Exited) {
				t.Errorf("%+v, want no survivors", out)
			}
			wantNone(t, mark)
		})
	}
}

// TestInherited: children that the launcher had before it was one are not the
// call's.
func TestInherited(t *testing.T) {
	mark := mark(t)
	x := launchCommand(t, launchSpec{Argv: []string{"/bin/sh", "-c", "sleep 300 & exit 0"}, Env: testEnv("A=b")},
		"/bin/sh", "-c", mark+` sleep 300 >/dev/null 2>&1 3>&- & exec "$0"`)
	x.start()
	b := make([]byte, 4096)
	n, err := x.result.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	x.cmd.Wait()
	if !strings.Contains(string(b[:n]), `"left_behind":1`) {
		t.Errorf("%s, want one left behind", b[:n])
	}
	alive := marked(t, mark)
	for _, a := range alive {
		pid, _ := strconv.Atoi(strings.Fields(a)[0])
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if len(alive) != 1 {
		t.Errorf("alive: %q, want the inherited sleep", alive)
	}
}

// TestLibrary: in a process that does other things, only what is the call's own
// is ended, with a subreaper and without.
func TestLibrary(t *testing.T) {
	for _, subreaper := range []bool{false, true} {
		t.Run("subreaper "+strconv.FormatBool(subreaper), func(t *testing.T) {
			other := shell(t, "sleep 300")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				other.run(ctx, limits{})
			}()
			spec := shell(t, "sleep 300 & sleep 300 & exit 5")
			spec.subreaper, spec.capture = subreaper, false
			res, err := spec.run(context.Background(), limits{})
			if err != nil || res.outcome.Code != 5 || res.outcome.LeftBehind > 2 || res.survivors != 0 {
				t.Errorf("%+v, %v, want exit 5", res, err)
			}
			wantNone(t, spec.env[1])
			select {
			case <-ended:
				t.Error("another call was ended too")
			default:
			}
			cancel()
			<-ended
			wantNone(t, other.env[1])
		})
	}
}

// TestOrphansByDomain: with a signal scope a daemon is told from the orphans
// of others, though it has left the group and the session of its call.
func TestOrphansByDomain(t *testing.T) {
	if abi := landlockABI(); abi < 6 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("needs Landlock ABI 6, found %d", abi)
		}
		t.Skipf("needs Landlock ABI 6, found %d", abi)
	}
	daemon := "setsid sh -c 'setsid sleep 300 & exit'; "
	spec := func(t *testing.T, line string) *spawnSpec {
		s := shell(t, line)
		s.capture, s.scoped, s.confine = false, true, scopeSignals
		return s
	}
	ready := fifo(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	other := spec(t, daemon+"echo ready > "+ready+"; sleep 300")
	ended := make(chan struct{})
	go func() { defer close(ended); other.run(ctx, limits{}) }()
	await(t, ready)
	mine := spec(t, daemon+"exit 0")
	res, err := mine.run(context.Background(), limits{})
	if err != nil || res.outcome.LeftBehind != 1 {
		t.Errorf("%+v, %v, want one left behind", res, err)
	}
	wantNone(t, mine.env[1])
	if alive := marked(t, other.env[1]); len(alive) != 3 {
		t.Errorf("of the other call %q are alive, want its shell, the sleep of that, and its daemon", alive)
	}
	cancel()
	<-ended
	wantNone(t, other.env[1])
}

// TestGrace (report D19): the grace is the child's to clean up in, and what it
// starts for that is not ended under it.
func TestGrace(t *testing.T) {
	ready := fifo(t)
	spec := shell(t, `trap 'sleep 0.3; echo bye; exit 3' TERM; sleep 300 & echo ready > `+ready+`; wait`)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		os.ReadFile(ready)
		cancel(errors.New("enough"))
	}()
	res, err := spec.run(ctx, limits{grace: time.Minute})
	if err != nil || res.outcome.Kind != Cancelled || res.outcome.ExitCode() != 3 {
		t.Errorf("%+v, %v, want cancelled with the child's 3", res.outcome, err)
	}
	if got := string(res.stdout.data()); got != "bye\n" {
		t.Errorf("stdout %q, want %q", got, "bye\n")
	}
	wantNone(t, spec.env[1])
}

// TestForward (report D07): what reaches the launcher reaches the whole group.
func TestForward(t *testing.T) {
	for _, tt := range []struct {
		sig  syscall.Signal
		exit int
	}{
		{syscall.SIGTERM, 143},
		{syscall.SIGINT, 130},
		{syscall.SIGHUP, 129},
		{syscall.SIGQUIT, 131},
		{syscall.SIGUSR1, 138},
		{syscall.SIGUSR2, 140},
	} {
		t.Run(tt.sig.String(), func(t *testing.T) {
			ready, mark := fifo(t), mark(t)
			x := launchCommand(t, launchSpec{
				Argv: []string{"/bin/sh", "-c", "ulimit -c 0; sh -c 'echo ready > " + ready + "; exec sleep 300'; echo late"},
				Env:  testEnv(mark),
			})
			x.start()
			await(t, ready)
			x.signal(tt.sig)
			out := x.wait()
			if out.exit != tt.exit || x.stdout.Len() > 0 {
				t.Errorf("exit %d, stdout %q, want %d and nothing", out.exit, x.stdout.String(), tt.exit)
			}
			wantNone(t, mark)
		})
	}
}

// TestForwardOnce (report D08): of a hundred signals a child that is ready sees
// each once.
func TestForwardOnce(t *testing.T) {
	x := launchCommand(t, launchSpec{
		Argv: []string{testBinary(t)}, Env: append(testEnv("A=b"), helperEnv+"=count"),
	})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	x.cmd.Stdout = w
	x.start()
	w.Close()
	counts := bufio.NewScanner(r)
	counts.Scan()
	for i := range 100 {
		if got := counts.Text(); got != strconv.Itoa(i) {
			t.Fatalf("after %d signals the child has %q", i, got)
		}
		x.signal(syscall.SIGHUP)
		counts.Scan()
	}
	x.signal(syscall.SIGTERM)
	if out := x.wait(); out.exit != 100 {
		t.Errorf("exit %d after 100 signals, want 100", out.exit)
	}
}

// TestForwardEarly (report D08): a signal that comes before the child is there
// is delivered after its start, and none is lost while it starts.
func TestForwardEarly(t *testing.T) {
	for i := range 30 {
		x := launchCommand(t, launchSpec{Argv: []string{"/bin/sleep", "300"}, Env: testEnv("A=b"), Gate: true})
		x.start()
		if _, err := x.ready.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		listens(t, x.cmd.Process.Pid)
		if i%2 == 0 {
			x.signal(syscall.SIGTERM)
		}
		if _, err := x.open.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if i%2 != 0 {
			x.signal(syscall.SIGTERM)
		}
		if out := x.wait(); out.exit != 143 || out.Outcome.Kind != Signaled {
			t.Errorf("round %d: exit %d, %+v, want 143", i, out.exit, out.Outcome)
		}
	}
}

// listens waits until a process handles SIGCONT, which Go does not by itself:
// the last of the signals to be registered.
func listens(t *testing.T, pid int) {
	t.Helper()
	for range 10_000 {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(b), "SigCgt:\t")
		mask, err := strconv.ParseUint(rest[:16], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if mask&(1<<(syscall.SIGCONT-1)) != 0 {
			return
		}
		time.Sleep(time.Millisecond) // there is nothing to wait on in another process
	}
	t.Fatal("the launcher does not listen")
}

// TestOrphansReaped: what dies as an orphan while the child runs does not stay
// a zombie until its end.
func TestOrphansReaped(t *testing.T) {
	// The shell tells the daemon's number, and waits for it to be gone.
	line := `setsid sh -c 'sleep 0.2 & echo $!' | { read pid; while kill -0 $pid 2>/dev/null; do sleep 0.05; done; }; exit 6`
	out := launch(t, launchSpec{Argv: []string{"/bin/sh", "-c", line}, Env: testEnv("A=b"), Timeout: time.Minute})
	if out.exit != 6 {
		t.Errorf("exit %d, %+v, want 6", out.exit, out.Outcome)
	}
}

// TestFullPipes (report D21): both streams are read at once, whatever their
// order and size.
func TestFullPipes(t *testing.T) {
	for _, n := range []int{65535, 65536, 65537, 1_000_000, 1 << 20} {
		size := strconv.Itoa(n)
		one, two := "head -c "+size+" /dev/zero", "head -c "+size+" /dev/zero >&2"
		for _, line := range []string{two + "; " + one, one + "; " + two} {
			res, err := shell(t, line).run(context.Background(), limits{timeout: time.Minute})
			if err != nil || res.outcome.Code != 0 {
				t.Fatalf("%s: %+v, %v", line, res.outcome, err)
			}
			for _, s := range []*stream{res.stdout, res.stderr} {
				if r := s.report(); r.Bytes != int64(n) || r.Truncated || len(*r.Text) != n {
					t.Errorf("%s: %d bytes, %d kept, truncated %v", line, r.Bytes, len(*r.Text), r.Truncated)
				}
			}
		}
	}
}

// TestBigOutput (report D21): what is not kept is counted, not held.
func TestBigOutput(t *testing.T) {
	const size = 256 << 20
	spec := shell(t, "printf begin; head -c "+strconv.Itoa(size)+" /dev/zero; printf end")
	spec.maxOutput = 1000
	res, err := spec.run(context.Background(), limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := res.stdout.report()
	if r.Bytes != size+8 || !r.Truncated {
		t.Errorf("%d bytes, truncated %v, want %d and true", r.Bytes, r.Truncated, size+8)
	}
	if text := *r.Text; !strings.HasPrefix(text, "begin\x00") || !strings.HasSuffix(text, "\x00end") || len(text) > 1100 {
		t.Errorf("%d bytes are kept, %.20q…", len(text), text)
	}
	if kept := cap(res.stdout.head) + cap(res.stdout.tail); kept > 4000 {
		t.Errorf("%d bytes of memory for a cap of 1000", kept)
	}
}

// TestLateOutput (report D22): a descendant that goes on writing is heard to
// its end, or the stream says that it was cut; one that holds it in silence
// does not hold the call.
func TestLateOutput(t *testing.T) {
	for _, tt := range []struct {
		name, line, want string
		may              bool // be cut
	}{
		{"writes on", "(for i in 1 2 3 4 5; do sleep 0.1; echo $i; done) & exit 0", "1\n2\n3\n4\n5\n", true},
		{"silent holder", "echo x; sleep 300 & exit 0", "x\n", true},
		{"silent daemon", "echo x; setsid sh -c 'setsid sleep 300 & exit'; exit 0", "x\n", true},
		{"none", "echo x", "x\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mark := mark(t)
			out := launch(t, launchSpec{Argv: []string{"/bin/sh", "-c", tt.line}, Env: testEnv(mark), Capture: true})
			if out.exit != 0 || out.Out != tt.want && (!tt.may || !out.Cut) {
				t.Errorf("exit %d, stdout %q, cut %v, want %q", out.exit, out.Out, out.Cut, tt.want)
			}
			if strings.HasPrefix(tt.name, "silent") != out.Cut && tt.name != "writes on" {
				t.Errorf("cut %v", out.Cut)
			}
			wantNone(t, mark)
		})
	}
}

// TestStat: a process may choose its name.
func TestStat(t *testing.T) {
	script := filepath.Join(t.TempDir(), "x) R 1 1 1")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nread x; exit\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	spec := &spawnSpec{path: script, argv: []string{"x"}, files: [3]*os.File{r}, subreaper: true}
	p, err := start(spec, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := statOf(p.pid)
	if err != nil || s.ppid != os.Getpid() || s.pgrp != p.pid {
		t.Errorf("%+v, %v, want parent %d and group %d", s, err, os.Getpid(), p.pid)
	}
	if !slices.Contains(children(os.Getpid()), p.pid) {
		t.Error("the child is not among the children")
	}
	w.Close()
	<-p.exited
	p.release()
}

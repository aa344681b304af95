package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestExit: what a child ends with is what we say.
func TestExit(t *testing.T) {
	for _, tt := range []struct {
		name, line, kind, signal string
		code                     int
	}{
		{"zero", "exit 0", Exited, "", 0},
		{"three", "exit 3", Exited, "", 3},
		{"255", "exit 255", Exited, "", 255},
		{"term", "kill -TERM $$", Signaled, "TERM", 143},
		{"kill", "kill -KILL $$", Signaled, "KILL", 137},
		{"segv", "ulimit -c 0; kill -SEGV $$", Signaled, "SEGV", 139},
		{"real-time", "kill -40 $$", Signaled, "40", 168},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := shell(t, tt.line).run(context.Background(), limits{})
			o := res.outcome
			if err != nil || o.Kind != tt.kind || o.Code != tt.code || o.Signal != tt.signal || o.ExitCode() != tt.code {
				t.Errorf("%q: %+v, error %v, want %s %d %q", tt.line, o, err, tt.kind, tt.code, tt.signal)
			}
			if o.MaxRSSKiB <= 0 {
				t.Errorf("%q: max RSS %d KiB, want more than none", tt.line, o.MaxRSSKiB)
			}
		})
	}
}

// TestStartErrors: each way not to start is told from the others, and leaves
// nothing open.
func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	busy := file("busy", "#!/bin/sh\n", 0o755)
	w, err := os.OpenFile(busy, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	long := strings.Repeat("x", 128<<10)
	refuse := errors.New("no cage today")
	deny := func() error { return refuse }
	for _, tt := range []struct {
		name  string
		spec  spawnSpec
		stage stage
		err   error
		exit  int
	}{
		{"absent", spawnSpec{path: filepath.Join(dir, "absent")}, stageExec, syscall.ENOENT, 127},
		{"no interpreter", spawnSpec{path: file("script", "#!/absent\n", 0o755)}, stageExec, syscall.ENOENT, 127},
		{"not executable", spawnSpec{path: file("plain", "#!/bin/sh\n", 0o644)}, stageExec, syscall.EACCES, 126},
		{"directory", spawnSpec{path: dir}, stageExec, syscall.EACCES, 126},
		{"no #!", spawnSpec{path: file("text", "echo hello\n", 0o755)}, stageExec, syscall.ENOEXEC, 126},
		{"busy", spawnSpec{path: busy}, stageExec, syscall.ETXTBSY, 125},
		{"long argument", spawnSpec{path: "/bin/true", argv: []string{"true", long}}, stageExec, syscall.E2BIG, 126},
		{"confinement", spawnSpec{path: "/bin/true", confine: deny}, stageConfine, refuse, 125},
		{"working directory", spawnSpec{path: "/bin/true", dirfd: int(w.Fd())}, stageConfine, syscall.ENOTDIR, 125},
		{"descriptor not open", spawnSpec{path: "/bin/true", passFds: []int{987}}, stageStreams, syscall.EBADF, 125},
		{"descriptor of ours", spawnSpec{path: "/bin/true", passFds: []int{1}}, stageStreams, syscall.EINVAL, 125},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(descriptors(t))
			tt.spec.capture = true
			if tt.spec.argv == nil {
				tt.spec.argv = []string{"x"}
			}
			res, err := tt.spec.run(context.Background(), limits{})
			se, ok := err.(*spawnError)
			if !ok || se.stage != tt.stage || !errors.Is(err, tt.err) || se.caged {
				t.Fatalf("error %#v, want stage %q and %v", err, tt.stage, tt.err)
			}
			if o := res.outcome; o.Kind != SpawnFailed || o.ExitCode() != tt.exit {
				t.Errorf("outcome %+v, want %s and exit %d", o, SpawnFailed, tt.exit)
			}
			if after := descriptors(t); len(after) != before {
				t.Errorf("%d descriptors are open after %d: %q", len(after), before, after)
			}
		})
	}
}

// TestDoneBeforeStart: nothing is started for a caller who is gone.
func TestDoneBeforeStart(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	spec := shell(t, ":")
	spec.confine = func() error { t.Error("confined"); return nil }
	res, err := spec.run(ctx, limits{})
	if !errors.Is(err, context.Canceled) || res.outcome.Kind != Cancelled || res.outcome.ExitCode() == 0 {
		t.Errorf("%+v, %v, want cancelled, and not exit 0", res.outcome, err)
	}
}

// descriptors are the open ones of this process, by what they are.
func descriptors(t *testing.T) (open []string) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		// The poller's own come and go once; the directory is gone by now.
		if name, err := os.Readlink("/proc/self/fd/" + d.Name()); err == nil && !strings.HasPrefix(name, "anon_inode:[event") {
			open = append(open, d.Name()+" "+name)
		}
	}
	return open
}

// TestConfineThread: what confine does to its thread is on the child and
// nowhere else in the process, and never on the startup thread.
func TestConfineThread(t *testing.T) {
	const runs = 200
	var wg sync.WaitGroup
	next := make(chan struct{}, runs)
	for range runs {
		next <- struct{}{}
	}
	close(next)
	for range 8 {
		wg.Go(func() {
			for range next {
				spec := shell(t, "grep NoNewPrivs /proc/self/status")
				spec.confine = func() error {
					if unix.Gettid() == unix.Getpid() {
						return errors.New("this is the startup thread")
					}
					return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
				}
				res, err := spec.run(context.Background(), limits{})
				if err != nil {
					t.Error(err)
					return
				}
				if got := string(res.stdout.data()); got != "NoNewPrivs:\t1\n" {
					t.Errorf("the child has %q, want NoNewPrivs 1", got)
				}
			}
		})
	}
	wg.Wait()
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(tasks) == 0 {
		t.Fatal(err)
	}
	restricted := 0
	for _, name := range tasks {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), "NoNewPrivs:\t1") {
			restricted++
			if filepath.Base(filepath.Dir(name)) == strconv.Itoa(os.Getpid()) {
				t.Error("the startup thread is restricted")
			}
		}
	}
	// A thread may still be on its way out.
	if restricted > 8 {
		t.Errorf("%d of %d threads are still restricted after %d runs, want them ended", restricted, len(tasks), runs)
	}
	if len(tasks) > 60 {
		t.Errorf("%d threads after %d runs, want them ended", len(tasks), runs)
	}
}

// TestLeaks: runs leave no descriptor and no child.
func TestLeaks(t *testing.T) {
	run := func() {
		if _, err := shell(t, "echo x; sleep 300 & exit 0").run(context.Background(), limits{}); err != nil {
			t.Fatal(err)
		}
	}
	run() // the poller is set up by the first
	fds, kids := descriptors(t), children(os.Getpid())
	for range 3 {
		run()
	}
	if after := descriptors(t); len(after) != len(fds) {
		t.Errorf("descriptors %q, before %q", after, fds)
	}
	if after := children(os.Getpid()); len(after) != len(kids) {
		t.Errorf("children %v, before %v", after, kids)
	}
}

// TestDescriptors: the child has its three streams, what is passed on, and
// nothing that we, or whoever started us, left open.
func TestDescriptors(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	stray, err := unix.Open("/dev/zero", unix.O_RDONLY, 0) // not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(stray)
	pass := int(w.Fd())
	for _, tt := range []struct {
		name string
		pass []int
		want string
	}{
		{"none", nil, "0 1 2"},
		{"one passed", []int{pass}, fmt.Sprintf("0 1 2 %d", pass)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// A glob is expanded by sh itself, whose own descriptor for it is closed by then.
			spec := shell(t, `for f in /proc/$$/fd/*; do [ -e "$f" ] && echo "${f##*/}"; done`)
			spec.passFds = tt.pass
			res, err := spec.run(context.Background(), limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(strings.Fields(string(res.stdout.data())), " "); got != tt.want {
				t.Errorf("the child has %q, want %q", got, tt.want)
			}
		})
	}
}

// TestDir: the working directory is the descriptor's, whatever its name means.
func TestDir(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "judged")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := os.Rename(dir, filepath.Join(base, "moved")); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Getwd()
	spec := shell(t, "/bin/pwd -P")
	spec.dirfd = fd
	res, err := spec.run(context.Background(), limits{})
	if err != nil {
		t.Fatal(err)
	}
	real, _ := filepath.EvalSymlinks(base)
	if got, want := string(res.stdout.data()), filepath.Join(real, "moved")+"\n"; got != want {
		t.Errorf("the child works in %q, want %q", got, want)
	}
	if after, _ := os.Getwd(); after != before {
		t.Errorf("our own directory is %q, was %q", after, before)
	}
}

// TestJustWritten (report D12): a program that was written a moment ago runs,
// though another fork may still hold its descriptor.
func TestJustWritten(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			name := filepath.Join(dir, strconv.Itoa(i))
			if err := os.WriteFile(name, []byte("#!/bin/sh\nexit 7\n"), 0o755); err != nil {
				t.Error(err)
				return
			}
			spec := spawnSpec{path: name, argv: []string{name}, subreaper: true}
			res, err := spec.run(context.Background(), limits{})
			if err != nil || res.outcome.Code != 7 {
				t.Errorf("%s: %+v, %v, want exit 7", name, res.outcome, err)
			}
		})
	}
	wg.Wait()
}

// TestDispositions: a child starts with the signals as our starter had them:
// nohup's SIGHUP stays ignored, and nothing of the Go runtime shows.
func TestDispositions(t *testing.T) {
	const show = "grep -E '^Sig(Blk|Ign):' /proc/self/status"
	for _, tt := range []struct {
		name, before, hup string
	}{
		{"default", "trap - HUP; ", ""},
		{"nohup", `trap "" HUP; `, "1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Whoever runs the tests may ignore signals of its own.
			bare, err := osexec.Command("/bin/sh", "-c", tt.before+"exec "+show).Output()
			if want := string(bare); err != nil || !strings.HasSuffix(want, tt.hup) {
				t.Fatalf("without a launcher: %q, %v", want, err)
			}
			x := launchCommand(t, launchSpec{Argv: []string{"/bin/sh", "-c", "exec " + show}, Env: testEnv("A=b")},
				"/bin/sh", "-c", tt.before+`exec "$0"`)
			x.start()
			if out := x.wait(); out.exit != 0 || x.stdout.String() != string(bare) {
				t.Errorf("exit %d, %q, want %q", out.exit, x.stdout.String(), bare)
			}
		})
	}
}

// TestClosedStreams (report D24): where our own streams are closed the child
// has /dev/null, and no file of ours takes their place.
func TestClosedStreams(t *testing.T) {
	x := launchCommand(t, launchSpec{
		Argv: []string{"/bin/sh", "-c", `r=$(readlink /proc/$$/fd/0 /proc/$$/fd/1); echo "$r" >&2`}, Env: testEnv("A=b"),
	}, "/bin/sh", "-c", `exec "$0" <&- >&-`)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	x.cmd.Stderr = w
	x.start()
	w.Close()
	out := x.wait()
	buf := make([]byte, 256)
	n, _ := r.Read(buf)
	if got, want := string(buf[:n]), "/dev/null\n/dev/null\n"; got != want || out.exit != 0 {
		t.Errorf("exit %d, streams %q, want %q", out.exit, got, want)
	}
}

// TestReaderLeaves (report D24): the child is told by SIGPIPE, and ends.
func TestReaderLeaves(t *testing.T) {
	x := launchCommand(t, launchSpec{Argv: []string{needProgram(t, "yes")}, Env: testEnv("A=b")})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	x.cmd.Stdout = w
	x.start()
	w.Close()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if out := x.wait(); out.exit != 141 || out.Outcome.Signal != "PIPE" {
		t.Errorf("exit %d, %+v, want 141 by PIPE", out.exit, out.Outcome)
	}
}

// BenchmarkSpawn is a start and its end, beside the bare system calls.
func BenchmarkSpawn(b *testing.B) {
	argv, env := []string{"true"}, []string{"PATH=/bin"}
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	fds := []uintptr{null.Fd(), null.Fd(), null.Fd()}
	b.Run("forkexec", func(b *testing.B) {
		for b.Loop() {
			pid, err := syscall.ForkExec("/bin/true", argv, &syscall.ProcAttr{Env: env, Files: fds})
			if err != nil {
				b.Fatal(err)
			}
			syscall.Wait4(pid, nil, 0, nil)
		}
	})
	for _, bb := range []struct {
		name string
		spec spawnSpec
	}{
		{"run", spawnSpec{}},
		{"run subreaper", spawnSpec{subreaper: true}},
		{"run launcher", spawnSpec{subreaper: true, launcher: true}},
		{"run captured", spawnSpec{subreaper: true, capture: true, maxOutput: 4096}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			bb.spec.path, bb.spec.argv, bb.spec.env = "/bin/true", argv, env
			bb.spec.files = [3]*os.File{null, null, null}
			for b.Loop() {
				if _, err := bb.spec.run(context.Background(), limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

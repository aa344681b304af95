//go:build linux && (amd64 || arm64)

package cage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/guard"
)

// The test binary runs itself: as a launcher, which confines a thread and
// starts from it a child, which tries operations and says how each ended.
const (
	modeEnv = "WRAP_CAGE_TEST"
	specEnv = "WRAP_CAGE_SPEC"
	// A program with the race detector in it sleeps for a second at its end.
	raceEnv = "GORACE=atexit_sleep_ms=0"
)

func TestMain(m *testing.M) {
	switch mode := os.Getenv(modeEnv); mode {
	case "":
		os.Exit(m.Run())
	case "launch":
		launch()
	case "operate":
		operate()
	case "startup":
		startup()
	case "hello":
		fmt.Println("hello")
	default:
		fmt.Fprintf(os.Stderr, "mode %q\n", mode)
		os.Exit(3)
	}
}

// spec is what launcher and child are told.
type spec struct {
	Cage   *guard.Cage // nil: none
	Kernel guard.Kernel
	Dir    string
	// Handles are opened by path; the rules' Handle counts in them.
	Handles []string
	Ops     []string
	// Tmp is a writable directory, Outside one that is not granted. Victim is
	// a process outside. Addresses are listened at outside.
	Tmp, Outside string
	Victim       int
	TCP          int
	Socket       string
	Abstract     string
}

// result is how the operations ended, by name, as errnos.
type result map[string]syscall.Errno

const sentinel = "all operations tried: "

// self is the test binary where anybody may execute it.
func self(t *testing.T, dir string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "self")
	if err := os.Link(exe, name); err != nil {
		in, err := os.ReadFile(exe)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, in, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// openDir is a temporary directory that every user can reach, which those of
// t.TempDir are not.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cage")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// try runs the operations of s as a user and gives their errnos. The child
// must exit 0 and say at its end that it tried them all.
func try(t *testing.T, exe string, uid int, s *spec, stdin *os.File) result {
	t.Helper()
	out := run(t, exe, uid, s, stdin, "launch")
	res := make(result)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines[:len(lines)-1] {
		var name string
		var errno int
		if _, err := fmt.Sscanf(line, "op %s %d", &name, &errno); err != nil {
			t.Fatalf("child said %q: %v", line, err)
		}
		res[name] = syscall.Errno(errno)
	}
	if got, want := lines[len(lines)-1], sentinel+fmt.Sprint(len(s.Ops)); got != want {
		t.Fatalf("child ended with %q, want %q", got, want)
	}
	return res
}

func run(t *testing.T, exe string, uid int, s *spec, stdin *os.File, mode string) string {
	t.Helper()
	enc, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(exe)
	cmd.Env = []string{modeEnv + "=" + mode, specEnv + "=" + string(enc), raceEnv}
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &stdout, &stderr
	if stdin != nil {
		cmd.Stdin = stdin
	}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s as %d: %v\n%s%s", mode, uid, err, stdout.Bytes(), stderr.Bytes())
	}
	// A program that counts coverage says so, caged or not, at its end.
	said := strings.ReplaceAll(stderr.String(), "warning: GOCOVERDIR not set, no coverage data emitted\n", "")
	if said != "" {
		t.Errorf("%s as %d said on stderr: %s", mode, uid, said)
	}
	return stdout.String()
}

func readSpec() *spec {
	var s spec
	if err := json.Unmarshal([]byte(os.Getenv(specEnv)), &s); err != nil {
		die("spec: %v", err)
	}
	return &s
}

func die(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(3)
}

// launch is the way that exec takes: a thread of its own is confined, starts
// the child and waits for it. The rest of the process must stay free.
func launch() {
	s := readSpec()
	dir, err := unix.Open(s.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		die("open %s: %v", s.Dir, err)
	}
	var handles []int
	for _, name := range s.Handles {
		fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			die("open %s: %v", name, err)
		}
		handles = append(handles, fd)
	}
	free := status()
	if err := confined(s, handles, dir); err != nil {
		die("%v", err)
	}
	for {
		after := restrictedThreads()
		if after == 0 {
			break
		}
		runtime.Gosched() // the thread is still on its way out; the parent's own time limit ends this
	}
	if got := status(); got != free {
		die("the launcher was %q and is %q", free, got)
	}
}

// confined runs the child from a confined thread.
func confined(s *spec, handles []int, dir int) error {
	return onThread(func() error { return child(s, handles, dir) })
}

// onThread runs do on a thread of its own, not the startup thread, which ends
// with it.
func onThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good
		if unix.Gettid() != unix.Getpid() {
			done <- do()
			return
		}
		inner := make(chan error)
		go func() {
			runtime.LockOSThread() // another thread: this one is held
			inner <- do()
		}()
		err := <-inner
		runtime.UnlockOSThread() // the startup thread does not end
		done <- err
	}()
	return <-done
}

func child(s *spec, handles []int, dir int) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	env := []string{modeEnv + "=operate", specEnv + "=" + os.Getenv(specEnv), raceEnv}
	if s.Cage != nil {
		if err := confine(s.Cage, handles, dir, s.Kernel); err != nil {
			return err
		}
	} else if err := unix.Fchdir(dir); err != nil {
		return err
	}
	pid, err := syscall.ForkExec(exe, []string{"child"}, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}})
	if err != nil {
		return fmt.Errorf("fork and exec %s: %w", exe, err)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
		return err
	}
	if ws != 0 {
		return fmt.Errorf("child ended with %#x", ws)
	}
	return nil
}

// startup calls Confine where it must refuse.
func startup() {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		die("the main goroutine has left the startup thread")
	}
	fmt.Println(Confine(&guard.Cage{}, nil, 0))
	fmt.Println(restrictedThreads())
}

// status is what a thread's status file says of its restrictions.
func status() string {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		die("%v", err)
	}
	return pick(string(data))
}

func pick(status string) string {
	var b strings.Builder
	for line := range strings.Lines(status) {
		for _, key := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"} {
			if strings.HasPrefix(line, key+":") {
				b.WriteString(strings.Join(strings.Fields(line), ""))
				b.WriteByte(' ')
			}
		}
	}
	return b.String()
}

// restrictedThreads counts this process's threads with no_new_privs or a
// filter that the process as a whole did not start with.
func restrictedThreads() int {
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(tasks) == 0 {
		die("no threads: %v", err)
	}
	n := 0
	for _, task := range tasks {
		f, err := os.Open(task)
		if err != nil {
			continue // it has ended
		}
		data, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			continue
		}
		if s := pick(string(data)); strings.Contains(s, "NoNewPrivs:1") || strings.Contains(s, "Seccomp:2") {
			n++
		}
	}
	return n
}

// need skips where the kernel cannot do what a test is about, and fails there
// in CI.
func need(t *testing.T, want guard.Kernel) {
	t.Helper()
	k := Probe()
	if k.Landlock >= want.Landlock && (k.Seccomp || !want.Seccomp) && (k.Mounts || !want.Mounts) {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("the cage cannot be tested here: found %+v, want %+v", k, want)
	}
	t.Skipf("needs %+v, found %+v", want, k)
}

package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// helperEnv names the helper that the test binary is to be instead of a test.
const helperEnv = "WRAP_EXEC_TEST_HELPER"

// helpers are what the test binary can be in a process of its own.
var helpers = map[string]func() int{
	"launch": helperLaunch,
	"count":  helperCount,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(helperEnv); name != "" {
		os.Unsetenv(helperEnv)
		helper, ok := helpers[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no helper", name)
			os.Exit(99)
		}
		os.Exit(helper())
	}
	os.Exit(m.Run())
}

// launchSpec is a spawnSpec for a launcher of its own.
type launchSpec struct {
	Argv           []string
	Env            []string
	Timeout, Grace time.Duration
	Capture        bool
	Keep           bool
	// Gate: confine writes a byte to descriptor 4 and waits for one on 5, which
	// is after listening for signals and before the fork.
	Gate bool
}

// launched is what a launcher tells of its run.
type launched struct {
	Outcome   Outcome
	Out, Err  string
	Survivors int
	Cut       bool
	Error     string
	// Children are left after the run, dead or alive.
	Children []int
	exit     int // the launcher's exit code, -1 if a signal ended it
}

// helperLaunch runs a launchSpec as a launcher and writes a launched to
// descriptor 3.
func helperLaunch() int {
	var l launchSpec
	if err := json.Unmarshal([]byte(os.Getenv("WRAP_EXEC_TEST_LAUNCH")), &l); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	spec := &spawnSpec{
		path: l.Argv[0], argv: l.Argv, env: l.Env, files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr},
		capture: l.Capture, maxOutput: 1 << 20, launcher: true, subreaper: true, keepBackground: l.Keep,
	}
	if l.Gate {
		gate := [2]*os.File{os.NewFile(4, "ready"), os.NewFile(5, "go")}
		spec.confine = func() error {
			if _, err := gate[0].Write([]byte{1}); err != nil {
				return err
			}
			_, err := io.ReadFull(gate[1], make([]byte, 1))
			return err
		}
	}
	res, err := spec.run(context.Background(), limits{timeout: l.Timeout, grace: l.Grace})
	out := launched{Outcome: res.outcome, Survivors: res.survivors, Children: children(os.Getpid())}
	if err != nil {
		out.Error = err.Error()
	}
	if res.stdout != nil {
		out.Out, out.Err = string(res.stdout.data()), string(res.stderr.data())
		out.Cut = res.stdout.cut
	}
	b, _ := json.Marshal(out)
	os.NewFile(3, "result").Write(b)
	return res.outcome.ExitCode()
}

// helperCount counts SIGHUP aloud, from 0, and exits with the count on SIGTERM.
func helperCount() int {
	ch := make(chan os.Signal, 100)
	signal.Notify(ch, syscall.SIGHUP, syscall.SIGTERM)
	for n := 0; ; n++ {
		fmt.Println(n)
		if <-ch == syscall.SIGTERM {
			return n
		}
	}
}

// launcher is a launchSpec on its way.
type launcher struct {
	t      *testing.T
	cmd    *osexec.Cmd
	stdout bytes.Buffer
	ready  *os.File // with Gate
	open   *os.File
	result *os.File
}

// launchCommand prepares the process of a launcher; prefix is executed before
// it, with the launcher's file as its last argument.
func launchCommand(t *testing.T, l launchSpec, prefix ...string) *launcher {
	t.Helper()
	spec, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	argv := append(prefix, testBinary(t))
	x := &launcher{t: t, cmd: osexec.Command(argv[0], argv[1:]...)}
	x.cmd.Env = append(os.Environ(), helperEnv+"=launch", "WRAP_EXEC_TEST_LAUNCH="+string(spec))
	var w [3]*os.File
	var r [3]*os.File
	for i := range w {
		if r[i], w[i], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r[i].Close(); w[i].Close() })
	}
	x.result, x.ready, x.open = r[0], r[1], w[2]
	x.cmd.ExtraFiles = []*os.File{w[0], w[1], r[2]}
	x.cmd.Stdout = &x.stdout
	x.cmd.WaitDelay = 10 * time.Second
	return x
}

func (x *launcher) start() {
	x.t.Helper()
	if err := x.cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	for _, f := range x.cmd.ExtraFiles {
		f.Close()
	}
	x.t.Cleanup(func() { x.cmd.Process.Kill() })
}

// wait is what became of the launcher.
func (x *launcher) wait() launched {
	x.t.Helper()
	b, err := io.ReadAll(x.result)
	if err != nil {
		x.t.Fatal(err)
	}
	err = x.cmd.Wait()
	if _, ok := errors.AsType[*osexec.ExitError](err); err != nil && !ok {
		x.t.Fatal(err)
	}
	out := launched{exit: x.cmd.ProcessState.ExitCode()}
	if len(b) == 0 {
		x.t.Fatalf("%v: the launcher told nothing: %v", x.cmd.Args, x.cmd.ProcessState)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		x.t.Fatalf("%v: %q", err, b)
	}
	if len(out.Children) != 0 {
		x.t.Errorf("children %v are left after the run, want none", out.Children)
	}
	return out
}

// signal sends sig to the launcher alone.
func (x *launcher) signal(sig syscall.Signal) {
	x.t.Helper()
	if err := x.cmd.Process.Signal(sig); err != nil {
		x.t.Fatal(err)
	}
}

// launch runs l in a launcher with stdin from /dev/null.
func launch(t *testing.T, l launchSpec) launched {
	t.Helper()
	x := launchCommand(t, l)
	x.start()
	return x.wait()
}

// testBinary is the absolute name of this program.
func testBinary(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// mark is a variable that all processes of one run bear, whatever becomes of
// their parents, groups and sessions.
func mark(t *testing.T) string {
	t.Helper()
	return "WRAP_EXEC_TEST_MARK=" + strconv.Itoa(os.Getpid()) + "-" + newMark() + "-"
}

func newMark() string { return strconv.FormatInt(time.Now().UnixNano(), 36) }

// marked finds the living processes that bear a mark.
func marked(t *testing.T, mark string) (alive []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		// A dead process has no environment, and one that is gone no file.
		if env, err := os.ReadFile(name); err == nil && bytes.Contains(env, []byte(mark)) {
			cmdline, _ := os.ReadFile(filepath.Dir(name) + "/cmdline")
			alive = append(alive, filepath.Base(filepath.Dir(name))+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return alive
}

// wantNone fails if a process of the run is alive.
func wantNone(t *testing.T, mark string) {
	t.Helper()
	if alive := marked(t, mark); len(alive) > 0 {
		t.Errorf("alive after the run: %q, want none", alive)
	}
}

// testEnv is an environment with a mark.
func testEnv(mark string) []string { return []string{"PATH=/usr/bin:/bin", mark} }

// shell is a captured run of a line by sh.
func shell(t *testing.T, line string) *spawnSpec {
	t.Helper()
	return &spawnSpec{
		path: "/bin/sh", argv: []string{"sh", "-c", line}, env: testEnv(mark(t)),
		capture: true, maxOutput: 1 << 20, subreaper: true,
	}
}

// needProgram skips without a program, and fails in CI.
func needProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := osexec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}

// fifo makes one.
func fifo(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// await reads what a child writes to a fifo once, which waits for the child.
func await(t *testing.T, fifo string) string {
	t.Helper()
	b, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

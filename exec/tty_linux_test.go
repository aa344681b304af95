package exec

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// screen is a pseudo-terminal and what was shown on it.
type screen struct {
	t      *testing.T
	master *os.File
	seen   string
}

// openScreen makes a terminal and starts cmd's process as the leader of its session.
func openScreen(t *testing.T, x *launcher, stdout *os.File) *screen {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = slave, slave, slave
	if stdout != nil {
		x.cmd.Stdout = stdout
	}
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	x.start()
	slave.Close()
	return &screen{t: t, master: master}
}

func (s *screen) typed(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// shows waits until text appears after what was waited for before.
func (s *screen) shows(text string) {
	s.t.Helper()
	s.master.SetReadDeadline(time.Now().Add(30 * time.Second))
	buf := make([]byte, 1024)
	for {
		if _, after, ok := strings.Cut(s.seen, text); ok {
			s.seen = after
			return
		}
		n, err := s.master.Read(buf)
		s.seen += string(buf[:n])
		if err != nil && n == 0 {
			s.t.Fatalf("%q is not shown: %v; there is %q", text, err, s.seen)
		}
	}
}

// TestTerminal (report D05): a child reads the terminal, and keys that make
// signals reach it alone and once.
func TestTerminal(t *testing.T) {
	trap := `n=0; trap 'n=$((n+1)); echo int $n' INT; echo ready; read x; echo got $x $n`
	for _, tt := range []struct {
		name, shell, line string
		play              func(s *screen)
		exit              int
	}{
		{"line", "sh", "echo ready; read x; echo got $x", func(s *screen) {
			s.shows("ready")
			s.typed("hello\n")
			s.shows("got hello")
		}, 0},
		{"^C", "bash", trap, func(s *screen) {
			s.shows("ready")
			s.typed("\x03")
			s.shows("int 1")
			s.typed("hello\n")
			s.shows("got hello 1")
		}, 0},
		{"^C ends it", "sh", "echo ready; read x", func(s *screen) {
			s.shows("ready")
			s.typed("\x03")
		}, 130},
		{`^\`, "sh", "ulimit -c 0; echo ready; read x", func(s *screen) {
			s.shows("ready")
			s.typed("\x1c")
		}, 131},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// bash where a read is to be interrupted by a trap and to go on; else sh,
			// as bash loses a signal that comes just before its exec.
			x := launchCommand(t, launchSpec{Argv: []string{needProgram(t, tt.shell), "-c", tt.line}, Env: testEnv("A=b")})
			s := openScreen(t, x, nil)
			tt.play(s)
			if out := x.wait(); out.exit != tt.exit {
				t.Errorf("exit %d, %+v, want %d", out.exit, out.Outcome, tt.exit)
			}
		})
	}
}

// TestTerminalInPipeline: with a pipe as stdout the terminal is not taken, as a
// pager may have it; a child that asks for it gets it.
func TestTerminalInPipeline(t *testing.T) {
	for _, tt := range []struct {
		name, line, fore string
	}{
		{"not asked for", `ps -o pgid=,tpgid= -p $PPID | { read own fore; [ $own = $fore ] && echo ours || echo theirs; }`, "ours\n"},
		{"asked for", `read x; ps -o pgid=,tpgid= -p $$ | { read own fore; [ $own = $fore ] && echo theirs || echo ours; }`, "theirs\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			needProgram(t, "ps")
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			x := launchCommand(t, launchSpec{Argv: []string{"/bin/sh", "-c", tt.line}, Env: testEnv("A=b")})
			s := openScreen(t, x, w)
			w.Close()
			s.typed("hello\n")
			out := x.wait()
			buf := make([]byte, 64)
			n, _ := r.Read(buf)
			if got := string(buf[:n]); got != tt.fore || out.exit != 0 {
				t.Errorf("exit %d, the foreground is %q, want %q", out.exit, got, tt.fore)
			}
		})
	}
}

// TestJobControl: under a shell the job stops on ^Z and goes on with fg, and
// the shell has its terminal back in between and afterwards.
func TestJobControl(t *testing.T) {
	x := launchCommand(t, launchSpec{
		Argv: []string{"/bin/sh", "-c", "echo ready; read x; echo got $x; exit 5"}, Env: testEnv("A=b"),
	}, needProgram(t, "bash"), "--norc", "--noprofile", "-i", "-c", `
		set -m
		"$0"
		echo "status $?"
		read y; echo "shell $y"
		fg
		echo "status $?"
		read y; echo "shell $y"`)
	s := openScreen(t, x, nil)
	s.shows("ready")
	s.typed("\x1a")
	s.shows("status 147") // 128+SIGSTOP: the shell saw a stop
	s.typed("one\n")
	s.shows("shell one")
	s.typed("two\n")
	s.shows("got two")
	s.shows("status 5")
	s.typed("three\n")
	s.shows("shell three")
	if out := x.wait(); out.Outcome.Code != 5 || out.Outcome.Kind != Exited {
		t.Errorf("%+v, want exit 5", out.Outcome)
	}
}

// TestTerminalIsBack: whoever started the launcher in its own group, as a
// script does, can read the terminal afterwards; also when the child took it
// and then could not be executed.
func TestTerminalIsBack(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/bin/true", text} {
		x := launchCommand(t, launchSpec{Argv: []string{path}, Env: testEnv("A=b")},
			"/bin/sh", "-c", `"$0"; read y; echo "shell $y"`)
		s := openScreen(t, x, nil)
		s.typed("one\n")
		s.shows("shell one")
		x.wait()
	}
}

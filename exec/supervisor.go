// Package exec runs a tool the way it was judged: it ties the rooms together
// for one call (overlay, argv, guard, breaker, audit), starts the program in
// the directory that the guard judged, under the cage that the guard planned,
// and ends everything that the call started.
//
// It never gives an argv to a shell, never looks a name up in the working
// directory, and hands no descriptor on but the three standard streams.
//
// It does not protect against: code that a tool it lets run contains, within
// the cage; other processes of the same user; what leaves through a network
// that was opened. Without Linux (or with --cage off) nothing but the judgement
// stands between the tool and the machine, and the report says so.
package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/audit"
	"github.com/wrapexec/wrap/breaker"
	"github.com/wrapexec/wrap/guard"
	"github.com/wrapexec/wrap/overlays"
)

// Call is one request to run a tool. The zero values are the strict ones: mode
// readonly, no grants, no network, the cage as the kind of tool demands.
type Call struct {
	// Argv is the tool and its arguments, executed as it stands. With Params,
	// it is the tool and the subcommand tokens only.
	Argv []string
	// Params is a JSON object of parameters to render, nil for none.
	Params []byte

	// Root is the directory where the call works and what it may touch, ""
	// for the current directory. A root that was named may be wide.
	Root string
	// Workdir is a directory beneath the root, "" for the root itself.
	Workdir string
	Mode    guard.Mode
	Grants  []guard.Grant
	Deny    []string
	Net     guard.Net
	Cage    guard.CageMode

	// Env is NAME, to pass a variable on, or NAME=VALUE, to set it.
	Env []string
	// SharedTmp leaves the system's temporary directory instead of a private one.
	SharedTmp bool

	// Timeout ends the call, 0 for none. Grace is between TERM and KILL, 0 for
	// the default of two seconds.
	Timeout, Grace time.Duration

	// Stdin, Stdout and Stderr are inherited by the child as they are; nil is
	// /dev/null. With Capture, the last two are not used: what the child writes
	// is kept, MaxOutput bytes of each stream (0: 1 MiB), and stands in the report.
	Stdin, Stdout, Stderr *os.File
	Capture               bool
	MaxOutput             int64

	// DryRun judges and runs nothing.
	DryRun bool
	// NoBreaker neither asks nor tells the tool's circuit breaker.
	NoBreaker bool
}

// Options configure a Supervisor. The zero Options use the process's own
// environment and the state directory of its user.
type Options struct {
	// Environ is the caller's environment, nil for os.Environ().
	Environ []string
	// StateDir holds the audit log, the breakers and the probe cache, "" for
	// $XDG_STATE_HOME/wrap.
	StateDir string
	// Launcher says that this process exists for one call: signals are
	// forwarded, the terminal is handed over, and every orphan of the call is
	// ours to end.
	Launcher bool
	// Logger tells what is done, nil for silence.
	Logger *slog.Logger
}

// Supervisor runs calls. It is safe for concurrent use.
type Supervisor struct {
	environ  []string
	home     string   // of the passwd entry
	homes    []string // and the one that $HOME names
	stateDir string
	stateErr error
	launcher bool
	log      *slog.Logger

	// beforeStart runs between the judgement and the start; tests set it.
	beforeStart func()
}

// New returns a Supervisor. It fails only where the caller's home cannot be
// told and none is needed less: an unusable state directory is met when a
// record is to be written.
func New(opt Options) *Supervisor {
	s := &Supervisor{
		environ: opt.Environ, stateDir: opt.StateDir, launcher: opt.Launcher, log: opt.Logger,
	}
	if s.environ == nil {
		s.environ = os.Environ()
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.home, s.homes = homes(s.environ)
	if s.stateDir == "" {
		xdg, _ := lookup(s.environ, "XDG_STATE_HOME")
		s.stateDir, s.stateErr = audit.StateDir(s.home, xdg)
	}
	return s
}

// CallError is a malformed call: the caller's mistake, found before anything
// was judged or run.
type CallError struct{ Msg string }

// Error is the message, one escaped line.
func (e *CallError) Error() string { return e.Msg }

// SetupError is a failure of wrap itself.
type SetupError struct {
	Op  string
	Err error
}

// Error names what wrap was doing.
func (e *SetupError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *SetupError) Unwrap() error { return e.Err }

// NotFoundError says that there is no such tool, or that what is there is no
// program.
type NotFoundError struct {
	Msg string
	// Executable is false where something of the name was found.
	Found bool
}

// Error is the message, one escaped line.
func (e *NotFoundError) Error() string { return e.Msg }

// Run judges and runs one call. The report is never nil. The error is nil if
// the tool ran, whatever its exit code; else it is a *guard.RefusedError, a
// *breaker.OpenError, a *CallError, a *NotFoundError or a *SetupError.
//
// When ctx is done, the whole tree of the call is ended and the outcome is
// "cancelled".
func (s *Supervisor) Run(ctx context.Context, call *Call) (*Report, error) {
	r := &run{s: s, call: call, report: &Report{Schema: 1, Verdict: Failed, Exit: exitFailed, wouldBe: call.DryRun}}
	defer r.close()
	err := r.do(ctx)
	r.conclude(err)
	return r.report, err
}

const (
	exitFailed   = 125
	exitRefused  = 126
	exitNotFound = 127
	exitOpen     = 75

	// maxArg is Linux's MAX_ARG_STRLEN less the terminating NUL (execve(2)).
	maxArg = 128<<10 - 1

	defaultGrace     = 2 * time.Second
	defaultMaxOutput = 1 << 20
)

// run is the state of one call on its way.
type run struct {
	s      *Supervisor
	call   *Call
	report *Report

	root, workdir *guard.Root
	file          *overlays.Found
	overlay       *overlays.Overlay
	tool          guard.Tool
	argv          []string
	inv           *argv.Invocation
	decision      *guard.Decision
	ticket        *breaker.Ticket
	callID        string
	tmp           string
	log           *audit.Log
	outcome       *Outcome
	untold        bool // the log failed, and a note says so
}

func (r *run) close() {
	if r.log != nil {
		r.log.Close()
	}
	if r.decision != nil {
		r.decision.Close()
	}
	if r.workdir != nil && r.workdir != r.root {
		r.workdir.Close()
	}
	if r.root != nil {
		r.root.Close()
	}
}

// do is the way of one call, top to bottom. Nothing below asks anything above.
func (r *run) do(ctx context.Context) error {
	if err := r.check(); err != nil {
		return err
	}
	if err := r.openRoot(); err != nil {
		return err
	}
	if err := r.findTool(ctx); err != nil {
		return err
	}
	if err := r.parse(); err != nil {
		return err
	}
	if err := r.decide(); err != nil {
		return err
	}
	if r.call.DryRun {
		r.report.Verdict, r.report.Exit = Allowed, 0
		return nil
	}
	if err := r.admit(); err != nil {
		return err
	}
	r.tell(nil)
	return r.spawn(ctx)
}

// check refuses what no tool could be run with.
func (r *run) check() error {
	c := r.call
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return &CallError{"no tool named: give its name and arguments after the flags"}
	}
	for i, a := range c.Argv {
		if strings.IndexByte(a, 0) >= 0 {
			return &CallError{fmt.Sprintf("argument %d, %s, holds a NUL byte: no program can be given one", i, clip(a))}
		}
		if len(a) > maxArg {
			return &CallError{fmt.Sprintf("argument %d is %d bytes long: the kernel takes at most %d (pass it by a file or stdin)", i, len(a), maxArg)}
		}
	}
	for _, kv := range c.Env {
		name, _, _ := strings.Cut(kv, "=")
		if name == "" || strings.IndexByte(kv, 0) >= 0 {
			return &CallError{fmt.Sprintf("--env %s: expected NAME or NAME=VALUE", clip(kv))}
		}
	}
	r.report.Mode = modeName(c.Mode)
	r.callID = newID()
	r.report.Call = r.callID
	return nil
}

// newID tells calls apart. It is no secret.
func newID() string {
	return fmt.Sprintf("%016x", rand.Uint64())
}

// clip quotes s, shortened with the true length kept.
func clip(s string) string {
	const keep = 64
	if len(s) <= keep {
		return argv.Quote(s)
	}
	return argv.Quote(s[:keep]) + "… (" + strconv.Itoa(len(s)) + " bytes)"
}

func (r *run) openRoot() (err error) {
	name := r.call.Root
	if name == "" {
		name = "."
	}
	r.root, err = guard.OpenRoot(name, guard.RootOptions{
		Named: r.call.Root != "", Homes: r.s.homes, Own: r.s.places(),
	})
	if err != nil {
		return rootError(err)
	}
	r.report.Root = r.root.Path()
	r.workdir = r.root
	if r.call.Workdir != "" {
		w, err := r.root.Workdir(r.call.Workdir)
		if err != nil {
			return rootError(err)
		}
		r.workdir = w
	}
	r.report.Workdir = r.workdir.Path()
	return nil
}

// rootError keeps a refusal a refusal; everything else is the caller's mistake.
func rootError(err error) error {
	if ref, ok := errors.AsType[*guard.Refusal](err); ok {
		return &guard.RefusedError{Refusals: []*guard.Refusal{ref}}
	}
	return &CallError{err.Error()}
}

// places are wrap's own directories: what policy, state and caches lie in.
func (s *Supervisor) places() []string {
	places := []string{"/etc/wrap", "/usr/share/wrap"}
	if s.stateDir != "" {
		places = append(places, s.stateDir)
	}
	if s.home != "" {
		places = append(places, filepath.Join(s.home, ".config/wrap"))
	}
	return places
}

// own is everything of wrap's own, which no grant opens: the places, and the
// program. The program alone makes no root too wide: people build it where they
// work.
func (s *Supervisor) own() []string {
	own := s.places()
	if exe, err := os.Executable(); err == nil {
		own = append(own, exe)
	}
	return own
}

func (r *run) note(text string) { r.report.Notes = append(r.report.Notes, text) }

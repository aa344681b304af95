package exec

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The kinds of outcome.
const (
	Exited      = "exited"       // by itself, with Code
	Signaled    = "signaled"     // by Signal; Code is 128+n
	TimedOut    = "timed_out"    // ended by us after Call.Timeout
	Cancelled   = "cancelled"    // ended by us when the context was done
	SpawnFailed = "spawn_failed" // nothing of the tool ran
)

// exitTimeout is the exit code of a call that ran out of time, timeout(1)'s.
const exitTimeout = 124

// Outcome is how a run ended, and what it used.
type Outcome struct {
	Kind string `json:"kind"`
	// Code is what the child ended with: its own, or 128+n for signal n. It
	// stands beside timed_out and cancelled too, where the child may have
	// cleaned up and said so. For spawn_failed it is 125, 126 or 127.
	Code int `json:"code"`
	// Signal is the name without SIG of the signal that the child died of
	// ("TERM"), the number for a real-time signal, and "" if it exited.
	Signal string `json:"signal,omitempty"`
	// Counted is what the circuit breaker was told: success, failure or none.
	Counted    string `json:"counted"`
	DurationMS int64  `json:"duration_ms"`
	// MaxRSSKiB is the largest resident set of the child, or of a descendant
	// that it waited for (getrusage(2)).
	MaxRSSKiB int64 `json:"max_rss_kib"`
	// LeftBehind counts the processes that were still there when the child had
	// ended. They were ended too, unless the call was to keep them.
	LeftBehind int `json:"left_behind"`
	// Quarantined are the protected names that appeared during the run.
	Quarantined []string `json:"quarantined"`

	// ours: the signal that the child died of was sent, or handed on, by us.
	ours bool
}

// ExitCode is what a launcher exits with: 124 for a timeout, otherwise Code.
func (o Outcome) ExitCode() int {
	if o.Kind == TimedOut {
		return exitTimeout
	}
	return o.Code
}

// limits bound a run.
type limits struct {
	timeout time.Duration // 0 for none
	grace   time.Duration // from TERM to KILL; 0 for defaultGrace
}

// result is what a run brought. The streams are nil unless it was captured.
type result struct {
	outcome        Outcome
	stdout, stderr *stream
	// survivors counts processes that KILL did not end within killBound: they
	// hang in the kernel, or are not ours to signal.
	survivors int
}

// signalName is "TERM" for SIGTERM.
func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return strings.TrimPrefix(name, "SIG")
	}
	return strconv.Itoa(int(sig))
}

// stage names the step at which a start failed.
type stage string

const (
	stageStreams  stage = "streams"     // pipes, /dev/null, descriptors to pass on
	stageConfine  stage = "confinement" // spawnSpec.confine
	stageExec     stage = "exec"        // fork and execve
	stageWait     stage = "wait"        // the child ran, but its end was taken by somebody else
	stageCanceled stage = "start"       // the context was done before
	stagePlatform stage = "platform"    // not built for this system
)

// spawnError says why no child ran (for stageWait: why its end is not known).
// Err is or wraps the errno.
type spawnError struct {
	stage stage
	path  string
	err   error
	// caged: the file is executable for this user, yet execve was EACCES. What
	// denied it is the confinement, not the file's mode.
	caged bool
}

// Error names the step and, for exec, the file; the caller escapes it.
func (e *spawnError) Error() string {
	text := string(e.stage)
	if e.stage == stageExec {
		text += " " + e.path
	}
	text += ": " + e.err.Error()
	if e.caged {
		text += " (denied by the cage: the file itself is executable)"
	}
	return text
}

// Unwrap is the cause.
func (e *spawnError) Unwrap() error { return e.err }

// exitCode tells the tool's faults from the machine's, as env(1) does: 127 if
// the file or its interpreter is not there, 126 if it is no program, 125 if
// that was never found out.
func (e *spawnError) exitCode() int {
	if e.stage != stageExec {
		return exitFailed
	}
	for _, errno := range [...]syscall.Errno{
		syscall.ETXTBSY, syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EIO,
	} {
		if errors.Is(e.err, errno) {
			return exitFailed
		}
	}
	if errors.Is(e.err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitRefused
}

// outcome is the outcome of a call that did not start.
func (e *spawnError) outcome() Outcome {
	o := Outcome{Kind: SpawnFailed, Code: e.exitCode(), Quarantined: []string{}}
	if e.stage == stageCanceled {
		o.Kind = Cancelled
	}
	return o
}

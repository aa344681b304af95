package exec

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// terminal is the process's controlling terminal, and who of us two has it.
//
// The child has a process group of its own. Where it is plain that the child is
// what the person at the terminal talks to, its group is made the foreground
// group before it execs. Otherwise (in a pipeline, where a pager may stand in
// our group) the child gets the terminal once it asks for it: a background
// process that reads it or sets its modes is stopped by SIGTTIN or SIGTTOU, and
// repeats the call when it is continued.
//
// A terminal is used by one goroutine.
type terminal struct {
	fd     int
	opened *os.File // what fd belongs to if it is ours, nil if it is an inherited stream
	own    int      // our process group
	// wanted: the child's group is to be in the foreground whenever ours would be.
	wanted bool
	// held: the child's group, or one that it made, is in the foreground.
	held bool
}

// openTerminal finds the controlling terminal, nil if there is none. stdin and
// stdout are the child's.
func openTerminal(stdin, stdout *os.File) *terminal {
	t := &terminal{fd: -1, own: unix.Getpgrp()}
	fore := 0
	for fd := range 3 {
		// It fails for every terminal but the controlling one (tcgetpgrp(3)).
		if pgrp, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil {
			t.fd, fore = fd, pgrp
			break
		}
	}
	if t.fd < 0 {
		// less reads its keys from here when stdin is a pipe.
		f, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return nil
		}
		t.fd, t.opened = int(f.Fd()), f
		if fore, err = unix.IoctlGetInt(t.fd, unix.TIOCGPGRP); err != nil {
			f.Close()
			return nil
		}
	}
	t.wanted = fore == t.own && isTerminal(stdin) && !isPipe(stdout)
	t.held = t.wanted
	return t
}

func isTerminal(f *os.File) bool {
	if f == nil {
		return false
	}
	_, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil
}

func isPipe(f *os.File) bool {
	if f == nil {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

// ours reports whether our own group is in the foreground.
func (t *terminal) ours() bool {
	pgrp, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && pgrp == t.own
}

// give makes the child's group the foreground group if it wants to be, and if
// it is ours to give.
func (t *terminal) give(pgrp int) {
	if t.wanted && t.ours() {
		t.held = t.set(pgrp)
	}
}

// reclaim makes our group the foreground group again if the child's had it. A
// group that the child made may have it by now, and is gone or stopped.
func (t *terminal) reclaim() {
	if t.held {
		t.set(t.own)
		t.held = false
	}
}

// set is tcsetpgrp(3). From the background it raises SIGTTOU, unless the thread
// blocks it; ignoring it would be the whole process's, and inherited.
func (t *terminal) set(pgrp int) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ttou, old unix.Sigset_t
	const bits = 8 * int(unsafe.Sizeof(ttou.Val[0]))
	ttou.Val[(int(unix.SIGTTOU)-1)/bits] = 1 << ((int(unix.SIGTTOU) - 1) % bits)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &ttou, &old) != nil {
		return false
	}
	err := unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, pgrp)
	unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	return err == nil
}

func (t *terminal) close() {
	if t.opened != nil {
		t.opened.Close()
	}
}

// stopped is called when sig has stopped the child. Either the child only asked
// for the terminal, and goes on; or it is a stop of the job, and we stop too,
// so that the shell that waits for us sees it. When the shell continues us,
// SIGCONT is forwarded as every signal is, after give.
func (t *terminal) stopped(p *proc, sig syscall.Signal) {
	asked := sig == unix.SIGTTIN || sig == unix.SIGTTOU
	t.wanted = t.wanted || asked
	if asked && t.ours() {
		t.give(p.pid)
		p.signal(unix.SIGCONT)
		return
	}
	t.reclaim()
	unix.Kill(unix.Getpid(), unix.SIGSTOP)
}

// forwarded are the signals that a launcher hands on; the last only matters
// with a terminal. Of the rest, SIGCHLD and SIGURG are our own (the Go runtime
// preempts with the latter), and SIGPIPE is about our own writes.
var forwarded = [...]os.Signal{
	unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGTSTP, unix.SIGCONT, unix.SIGWINCH, unix.SIGABRT, unix.SIGSYS, unix.SIGTRAP,
}

// listen has the launcher's signals come to ch from now on. It takes about
// 20 µs a signal.
//
// A signal that was ignored when we were started stays ignored, for the child
// too (nohup). The Go runtime remembers only SIGHUP and SIGINT; others that
// were ignored have their default effect in the child.
func listen(ch chan<- os.Signal, tty bool) {
	list := make([]os.Signal, 0, len(forwarded))
	for _, sig := range forwarded {
		if !signal.Ignored(sig) && (tty || sig != unix.SIGWINCH) {
			list = append(list, sig)
		}
	}
	signal.Notify(ch, list...)
}

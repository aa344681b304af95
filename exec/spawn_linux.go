package exec

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// busyBound is how long execve is tried again on ETXTBSY: a file that was
	// just written may still be open for writing in a child that some other
	// goroutine has forked and that has not come to its own exec.
	busyBound = time.Second

	// maxPass is the highest descriptor that can be passed on. The child closes
	// every number below it that is not passed.
	maxPass = 1023
)

// proc is a child, and the thread that it was forked from. The thread belongs
// to it: it waits for the child, is never used for anything else, and ends in
// release. Only the goroutine that started it may use a proc.
type proc struct {
	pid   int
	pidfd int
	// stops has the signals that stopped the child, if the terminal's job
	// control is on.
	stops chan syscall.Signal
	// exited is closed when the child is dead but not reaped: until reap its pid,
	// and so the number of its process group, belongs to nobody else.
	exited chan struct{}
	// How it ended, once exited is closed. err: somebody else took its end.
	code   int
	sig    syscall.Signal // 0 if it exited
	rusage unix.Rusage
	err    error
	// asks run on the child's thread after it has ended.
	asks   chan func()
	reaped bool
}

// start starts the child, not before gate is closed (nil: at once). tty is nil
// unless the launcher has a terminal. An error is a *spawnError, and then
// nothing of the program has run.
func start(spec *spawnSpec, tty *terminal, gate <-chan struct{}) (*proc, error) {
	attr, null, err := spec.attr(tty)
	if err != nil {
		return nil, &spawnError{stage: stageStreams, path: spec.path, err: err}
	}
	if null >= 0 {
		defer unix.Close(null)
	}
	// Afterwards EACCES could be the cage's: ask before it is on.
	if err := unix.Faccessat(unix.AT_FDCWD, spec.path, unix.X_OK, unix.AT_EACCESS); err != nil {
		return nil, &spawnError{stage: stageExec, path: spec.path, err: err}
	}
	p := &proc{pidfd: -1, exited: make(chan struct{}), asks: make(chan func())}
	attr.Sys.PidFD = &p.pidfd
	if tty != nil {
		p.stops = make(chan syscall.Signal, 8)
	}
	started := make(chan error, 1)
	onOwnThread(func() {
		err := p.fork(spec, attr, gate)
		started <- err
		if err != nil {
			return
		}
		// Not returning before the child has ended is what Pdeathsig wants: it
		// fires when the thread that forked is gone (prctl(2)).
		p.watch()
		for ask := range p.asks {
			ask()
		}
	})
	err = <-started
	runtime.KeepAlive(spec) // the files are known to attr by number only
	if err != nil {
		return nil, err
	}
	return p, nil
}

// onOwnThread runs f on a thread that ends with f and is never the startup
// thread: that one is parked instead of ended when a goroutine that is locked
// to it returns, so what f did to it would stay (golang/go#20395).
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return // still locked: the runtime ends the thread
		}
		elsewhere := make(chan struct{})
		go func() {
			runtime.LockOSThread() // the startup thread is taken, by us
			close(elsewhere)
			f()
		}()
		<-elsewhere
		runtime.UnlockOSThread()
	}()
}

// attr opens what the child needs. null is /dev/null, or -1 if it was not needed.
func (spec *spawnSpec) attr(tty *terminal) (attr *syscall.ProcAttr, null int, err error) {
	null = -1
	fds := make([]uintptr, 3, 8)
	for i, f := range spec.files {
		if f != nil {
			fds[i] = f.Fd()
			continue
		}
		if null < 0 {
			if null, err = unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
				return nil, -1, fmt.Errorf("open %s: %w", os.DevNull, err)
			}
		}
		fds[i] = uintptr(null)
	}
	for _, fd := range spec.passFds {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || fd < 3 || fd > maxPass {
			if null >= 0 {
				unix.Close(null)
			}
			if err == nil {
				err = unix.EINVAL
			}
			return nil, -1, fmt.Errorf("descriptor %d cannot be passed on: %w", fd, err)
		}
		for len(fds) <= fd {
			fds = append(fds, ^uintptr(0)) // closed in the child
		}
		fds[fd] = uintptr(fd)
	}
	// Marking is all that is done to descriptors that whoever started us left
	// open; ours, and the Go runtime's, are marked already.
	if err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		if null >= 0 {
			unix.Close(null)
		}
		return nil, -1, fmt.Errorf("close_range: %w", err)
	}
	sys := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if tty != nil && tty.wanted {
		sys.Foreground, sys.Ctty = true, tty.fd
	}
	return &syscall.ProcAttr{Env: spec.env, Files: fds, Sys: sys}, null, nil
}

// fork restricts this thread and forks the child from it.
func (p *proc) fork(spec *spawnSpec, attr *syscall.ProcAttr, gate <-chan struct{}) error {
	if spec.dirfd > 0 {
		// Threads share the working directory until they are told not to
		// (clone(2), CLONE_FS).
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return &spawnError{stage: stageConfine, err: fmt.Errorf("unshare CLONE_FS: %w", err)}
		}
		if err := unix.Fchdir(spec.dirfd); err != nil {
			return &spawnError{stage: stageConfine, err: fmt.Errorf("fchdir: %w", err)}
		}
	}
	if spec.confine != nil {
		if err := spec.confine(); err != nil {
			return &spawnError{stage: stageConfine, err: err}
		}
	}
	if gate != nil {
		<-gate
	}
	pid, err := syscall.ForkExec(spec.path, spec.argv, attr)
	for wait := time.Millisecond; err == syscall.ETXTBSY && wait < busyBound; wait *= 2 { // 1023 ms in all
		time.Sleep(wait)
		pid, err = syscall.ForkExec(spec.path, spec.argv, attr)
	}
	if err != nil {
		return &spawnError{
			stage: stageExec, path: spec.path, err: err,
			caged: err == syscall.EACCES && spec.confine != nil,
		}
	}
	p.pid = pid
	return nil
}

// From wait.h and asm-generic/siginfo.h.
const (
	cldExited  = 1
	cldStopped = 5
)

// watch waits for the child and leaves it unreaped (waitid(2), WNOWAIT).
func (p *proc) watch() {
	defer close(p.exited)
	options := unix.WEXITED | unix.WNOWAIT
	if p.stops != nil {
		options |= unix.WSTOPPED
	}
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, p.pid, &info, options, &p.rusage)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			p.err = &spawnError{stage: stageWait, err: fmt.Errorf("waitid: %w", err)}
			return
		}
		if info.Code != cldStopped {
			if status := siStatus(&info); info.Code == cldExited {
				p.code = status
			} else {
				p.sig = syscall.Signal(status)
			}
			return
		}
		// Take the stop, or it is reported for ever. It may be over already.
		var taken unix.Siginfo
		if unix.Waitid(unix.P_PID, p.pid, &taken, unix.WSTOPPED|unix.WNOHANG, nil) != nil || taken.Code != cldStopped {
			continue
		}
		select {
		case p.stops <- syscall.Signal(siStatus(&taken)):
		default: // nobody listens any more: the call is being ended
		}
	}
}

// siStatus is si_status, which the unix package does not name: an exit code or
// a signal. It stands after si_pid and si_uid in the union, which is aligned as
// a pointer is (sigaction(2)).
func siStatus(info *unix.Siginfo) int {
	const align = unsafe.Sizeof(uintptr(0))
	const union = (unsafe.Offsetof(info.Code) + 4 + align - 1) &^ (align - 1)
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), union+8)))
}

// signal sends sig to the child's process group. Nobody there is no error.
func (p *proc) signal(sig syscall.Signal) { unix.Kill(-p.pid, sig) }

// inDomain reports whether pid can be signalled from the child's thread. In a
// Landlock domain with a signal scope only the processes of this call can be,
// whatever they did to their session, group or environment. The child must
// have ended: until then its thread waits for it.
func (p *proc) inDomain(pid int) bool {
	answer := make(chan bool, 1)
	p.asks <- func() { answer <- unix.Kill(pid, 0) == nil }
	return <-answer
}

// hasExited reports whether the child has ended.
func (p *proc) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// reap gives up the number of a child that has ended.
func (p *proc) reap() {
	for !p.reaped && p.err == nil {
		if _, err := unix.Wait4(p.pid, nil, unix.WNOHANG, nil); err != unix.EINTR {
			p.reaped = true
		}
	}
}

// release reaps the child, if it has ended, and lets its thread end.
func (p *proc) release() {
	if p.hasExited() {
		p.reap()
	}
	unix.Close(p.pidfd)
	close(p.asks)
}

// growPipe asks for what an unprivileged process may have by default
// (pipe(7), pipe-max-size). A refusal only costs speed.
func growPipe(f *os.File) {
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}

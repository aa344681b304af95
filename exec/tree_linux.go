package exec

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killBound is how long a tree is sent KILL before what is left of it is
	// given up as hanging in the kernel.
	killBound = 5 * time.Second
	// freezes bounds the passes that stop a tree before it is killed. Each
	// takes a fork away from every process that it finds.
	freezes = 64
)

// tree is the child and all that descends from it. A member is held by pidfd,
// so that no signal ever goes to another process that has taken over its number.
//
// It does not hold: without a subreaper, what has left the child's group and
// lost its parent; in a process that is not a launcher and whose cage has no
// signal scope, an orphan that has left the child's group and session before it
// was ever found; what somebody else runs for the child (cron, systemd, a
// container daemon).
//
// A tree is used by one goroutine.
type tree struct {
	p    *proc
	spec *spawnSpec
	// before are the children that this process had before the start, as after
	// an exec from a shell.
	before []int
	// members are alive when last seen, parents before their children.
	members []*member
	// left counts the members that were there when the child had ended.
	left int
	// moving: the last find met a process that was gone when it was to be
	// adopted. It may have a successor that was in no list yet.
	moving bool
}

// member is a process of the tree other than the child.
type member struct {
	pid, fd int
	termed  bool // has got TERM
}

// newTree is called before the child is started.
func newTree(spec *spawnSpec) *tree {
	t := &tree{spec: spec}
	if spec.launcher && spec.subreaper {
		t.before = inherited()
	}
	return t
}

// inherited are the children of this process that it did not start itself, and
// the orphans that came to it: the kernel lists both with the startup thread
// (find_alive_thread in kernel/exit.c takes the first that lives), and children
// that we fork with the thread that forked, which is another.
func inherited() []int {
	self := strconv.Itoa(os.Getpid())
	return childrenOf("/proc/self/task/" + self + "/children")
}

func childrenOf(name string) (pids []int) {
	b, err := readProc(name)
	if err != nil {
		return nil
	}
	for field := range bytes.FieldsSeq(b) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// children are the children of all threads of pid (proc_pid_task(5),
// CONFIG_PROC_CHILDREN). The list may miss one when another ends meanwhile:
// callers look again until nothing is new.
func children(pid int) (pids []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	tids, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, tid := range tids {
		pids = append(pids, childrenOf(dir+tid.Name()+"/children")...)
	}
	return pids
}

// readProc reads a whole file without the poller, which costs more than the read.
func readProc(name string) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 512)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return b, err
		}
		if b = b[:len(b)+n]; len(b) == cap(b) {
			b = slices.Grow(b, cap(b))
		}
	}
}

// stat is what we read of proc_pid_stat(5).
type stat struct {
	state               byte
	ppid, pgrp, session int
}

func statOf(pid int) (s stat, err error) {
	b, err := readProc("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, err
	}
	// The name before is the process's choice and may hold anything.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 4 {
		return s, errors.New("short stat")
	}
	s.state = fields[0][0]
	for i, n := range [...]*int{&s.ppid, &s.pgrp, &s.session} {
		if *n, err = strconv.Atoi(string(fields[i+1])); err != nil {
			return s, err
		}
	}
	return s, nil
}

// find looks for processes that are not known yet, makes them members and
// returns them, parents before their children.
//
// With a subreaper, a find after the child's end that leaves no members and
// sets moving to false proves that the tree is at its end: every living
// descendant has a living ancestor that is our own child, so there was a moment
// at which there was none.
func (t *tree) find() (fresh []*member) {
	t.bury()
	t.moving = false
	visit := func(pid, parent int) {
		if pid == t.p.pid || t.known(pid) {
			return
		}
		if m := adopt(pid, parent); m != nil {
			t.members, fresh = append(t.members, m), append(fresh, m)
		} else {
			t.moving = true
		}
	}
	ended := t.p.hasExited() // asked first: what it leaves has come to us by then
	if t.spec.subreaper {
		self := os.Getpid()
		for _, pid := range inherited() {
			if !t.known(pid) && t.owns(pid) {
				visit(pid, self)
			}
		}
	}
	if !ended {
		for _, pid := range children(t.p.pid) {
			visit(pid, t.p.pid)
		}
	}
	for i := 0; i < len(t.members); i++ { // it grows
		for _, pid := range children(t.members[i].pid) {
			visit(pid, t.members[i].pid)
		}
	}
	if ended {
		t.left += len(fresh)
	}
	return fresh
}

func (t *tree) known(pid int) bool {
	return slices.ContainsFunc(t.members, func(m *member) bool { return m.pid == pid })
}

// owns reports whether an orphan that came to this process is of this call.
func (t *tree) owns(pid int) bool {
	if t.spec.launcher {
		return !slices.Contains(t.before, pid)
	}
	if t.spec.scoped && t.p.hasExited() {
		return t.p.inDomain(pid)
	}
	s, err := statOf(pid)
	return err == nil && (s.pgrp == t.p.pid || s.session == t.p.pid)
}

// adopt makes a member of the process that was listed as a child of parent, or
// nil if it is dead, or is another one by now. A dead orphan is reaped.
func adopt(pid, parent int) *member {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil
	}
	s, err := statOf(pid)
	self := os.Getpid()
	if err == nil && (s.ppid == parent || s.ppid == self) && !dead(fd, 0) {
		// It is alive after the stat, so the stat was its own. (State Z would not
		// mean dead: it is the first thread's, and others may go on.)
		return &member{pid: pid, fd: fd}
	}
	reapOrphan(fd)
	unix.Close(fd)
	return nil
}

// reapOrphan reaps the process if it is a dead child of ours, and by its
// descriptor: by number it might be another call's child.
func reapOrphan(fd int) {
	unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG, nil)
}

// bury drops the members that are dead.
func (t *tree) bury() {
	t.members = slices.DeleteFunc(t.members, func(m *member) bool {
		if !dead(m.fd, 0) {
			return false
		}
		reapOrphan(m.fd)
		unix.Close(m.fd)
		return true
	})
}

// dead reports whether the process has ended, and waits for it so long: a pidfd
// is readable once it has (pidfd_open(2)).
func dead(fd int, wait time.Duration) bool {
	fds := [...]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, _ := unix.Poll(fds[:], int(wait.Milliseconds()))
	return n > 0
}

// reapDead reaps the orphans of a launcher that have died while the child runs.
func (t *tree) reapDead() {
	for _, pid := range inherited() {
		if pid == t.p.pid || slices.Contains(t.before, pid) {
			continue
		}
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			reapOrphan(fd)
			unix.Close(fd)
		}
	}
}

// terminate sends TERM to the whole tree, once to each process, and CONT, as a
// stopped one acts on nothing. What starts afterwards (a handler's clean-up) is
// left alone until the child has ended.
func (t *tree) terminate() {
	t.find()
	group := !t.p.hasExited()
	if group {
		t.p.signal(unix.SIGTERM)
		t.p.signal(unix.SIGCONT)
		if pgrp, err := unix.Getpgid(t.p.pid); err == nil && pgrp != t.p.pid { // it has moved
			t.send(t.p.pidfd, unix.SIGTERM, unix.SIGCONT)
		}
	}
	for _, m := range t.members {
		if m.termed {
			continue
		}
		m.termed = true
		if s, err := statOf(m.pid); group && err == nil && s.pgrp == t.p.pid {
			continue
		}
		t.send(m.fd, unix.SIGTERM, unix.SIGCONT)
	}
}

func (t *tree) send(fd int, sigs ...syscall.Signal) {
	for _, sig := range sigs {
		unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// settle ends what the child, which is dead, has left behind: TERM, until the
// deadline, KILL. It returns how many processes there were, and how many are
// still there. hurry is asked now and then whether to wait no longer.
func (t *tree) settle(deadline time.Time, hurry func() bool) (left, survivors int) {
	if !t.spec.subreaper {
		return t.settleGroup(deadline, hurry)
	}
	t.bury()
	t.left = len(t.members)
	t.find()
	for len(t.members) > 0 || t.moving {
		if !time.Now().Before(deadline) || hurry() {
			survivors = t.kill()
			return t.left, survivors
		}
		t.terminate()
		for t.bury(); len(t.members) > 0; t.bury() {
			if !time.Now().Before(deadline) || hurry() {
				survivors = t.kill()
				return t.left, survivors
			}
			dead(t.members[0].fd, min(20*time.Millisecond, time.Until(deadline)+time.Millisecond))
		}
		t.find()
	}
	return t.left, 0
}

// count is settle for a call that keeps what it left behind.
func (t *tree) count() (left int) {
	if !t.spec.subreaper {
		return groupSize(t.p.pid)
	}
	t.bury()
	t.left = len(t.members)
	t.find()
	return t.left
}

// settleGroup is settle where orphans go to init: only the child's group can
// be known. Its number cannot be taken over while one of its members lives.
func (t *tree) settleGroup(deadline time.Time, hurry func() bool) (left, survivors int) {
	t.p.signal(unix.SIGTERM)
	t.p.signal(unix.SIGCONT)
	t.p.reap() // or the group would never be empty
	for end := deadline.Add(killBound); unix.Kill(-t.p.pid, 0) != unix.ESRCH; time.Sleep(time.Millisecond) {
		n := groupSize(t.p.pid)
		left = max(left, n)
		switch {
		case n == 0: // dead all, and for their parents to reap
			return left, 0
		case time.Now().After(end):
			return left, n
		case !time.Now().Before(deadline) || hurry():
			t.p.signal(unix.SIGKILL)
		}
	}
	return left, 0
}

// groupSize counts the living processes of a group.
func groupSize(pgrp int) (n int) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, d := range dirs {
		if pid, err := strconv.Atoi(d.Name()); err == nil {
			if s, err := statOf(pid); err == nil && s.pgrp == pgrp && s.state != 'Z' && s.state != 'X' {
				n++
			}
		}
	}
	return n
}

// kill ends the whole tree, the child too, and returns how many processes it
// could not end within killBound.
//
// Everything is stopped before anything is killed, pass after pass until one
// finds nothing new: a stopped process forks no more, and whose parent lives is
// found by it. The rest that forked at the wrong moment comes to us as orphans.
func (t *tree) kill() (survivors int) {
	for end := time.Now().Add(killBound); ; {
		t.freeze()
		// Children first: a group whose last parent dies is continued by the
		// kernel if it was stopped (setpgid(2), orphaned process groups).
		for _, m := range slices.Backward(t.members) {
			t.send(m.fd, unix.SIGKILL)
		}
		t.send(t.p.pidfd, unix.SIGKILL)
		t.p.signal(unix.SIGKILL)
		for t.bury(); len(t.members) > 0 && time.Now().Before(end); t.bury() {
			if !dead(t.members[0].fd, 50*time.Millisecond) {
				break
			}
		}
		ended := dead(t.p.pidfd, 50*time.Millisecond)
		if ended {
			<-t.p.exited // the thread is about to say so
		}
		fresh := t.find()
		if ended && len(fresh) == 0 && len(t.members) == 0 && !t.moving {
			return 0
		}
		if !time.Now().Before(end) {
			survivors = len(t.members)
			if !ended || (survivors == 0 && t.moving) {
				survivors++
			}
			return survivors
		}
	}
}

func (t *tree) freeze() {
	t.p.signal(unix.SIGSTOP)
	t.send(t.p.pidfd, unix.SIGSTOP)
	t.find()
	for _, m := range t.members {
		t.send(m.fd, unix.SIGSTOP)
	}
	for range freezes {
		fresh := t.find()
		if len(fresh) == 0 && !t.moving {
			return
		}
		for _, m := range fresh {
			t.send(m.fd, unix.SIGSTOP)
		}
	}
}

// close lets go of the members, dead or alive.
func (t *tree) close() {
	for _, m := range t.members {
		unix.Close(m.fd)
	}
	t.members = nil
}

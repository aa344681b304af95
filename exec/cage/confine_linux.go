package cage

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/guard"
)

var errStartupThread = errors.New("this is the startup thread, which never ends: its restrictions would stay")

// Confine restricts the calling operating-system thread, and so the children
// that it forks from now on, to what c allows. Nothing else in the process
// changes.
//
// The caller must have locked its goroutine to the thread and must never
// unlock it, so that the thread ends with the goroutine. It must not be the
// startup thread. What the child needs (its streams, the program's file) must
// be open before: the thread's own opens are judged too. The child is to be
// forked with fork, vfork or clone; clone3 answers ENOSYS from now on.
//
// handles are the descriptors that the rules' Handle counts in; dirfd becomes
// the working directory. Both stay the caller's, and may be O_PATH. Relative
// names in c.Protect are taken from dirfd, absolute ones as they stand.
//
// What Probe does not report is left out; c.Enforced names it. Everything else
// succeeds or is an *Error. After an error the thread is restricted in part:
// let it end, fork nothing from it.
//
// The order is bound: mounts need capabilities and no Landlock domain, which
// forbids mount(2) altogether; Landlock and the filter need no_new_privs; the
// filter comes last because it would refuse steps before it.
func Confine(c *guard.Cage, handles []int, dirfd int) error {
	return confine(c, handles, dirfd, Probe())
}

// confine is Confine on a kernel that can do what k says and no more.
func confine(c *guard.Cage, handles []int, dirfd int, k guard.Kernel) error {
	if unix.Gettid() == unix.Getpid() {
		return &Error{StageThread, errStartupThread}
	}
	// Threads share the working directory until this (clone(2), CLONE_FS).
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return &Error{StageThread, fmt.Errorf("unshare CLONE_FS: %w", err)}
	}
	if err := unix.Fchdir(dirfd); err != nil {
		return &Error{StageDirectory, fmt.Errorf("fchdir: %w", err)}
	}
	private := c.Private && k.Mounts
	places, err := openRules(c.Rules, handles, private)
	if err != nil {
		return &Error{StageRules, err}
	}
	defer closePlaces(places)
	if private {
		if err := privateView(places, c.Protect, dirfd); err != nil {
			return &Error{StageMounts, err}
		}
	}
	// Before the capabilities go: a rule may name what only they reach.
	ruleset := -1
	if k.Landlock > 0 {
		if ruleset, err = newRuleset(c, places, k.Landlock); err != nil {
			return &Error{StageLandlock, err}
		}
		defer unix.Close(ruleset)
	}
	if err := dropCaps(c.Caps); err != nil {
		return &Error{StageCaps, err}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return &Error{StageNoNewPrivs, fmt.Errorf("prctl PR_SET_NO_NEW_PRIVS: %w", err)}
	}
	if ruleset >= 0 {
		if err := restrictSelf(ruleset); err != nil {
			return &Error{StageLandlock, err}
		}
	}
	if k.Seccomp {
		if err := installFilter(c, k); err != nil {
			return &Error{StageSeccomp, err}
		}
	}
	return nil
}

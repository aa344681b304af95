package cage

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/guard"
)

// handledFS are the file rights that a Landlock ABI knows (landlock(7)): all
// of them are handled, so that what no rule grants is denied. ABI 1 has no
// REFER, and there a file cannot be moved or linked to another directory at
// all. ABIs newer than the last one here are used as that one.
func handledFS(abi int) uint64 {
	const (
		abi1 = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1
		abi2 = abi1 | unix.LANDLOCK_ACCESS_FS_REFER
		abi3 = abi2 | unix.LANDLOCK_ACCESS_FS_TRUNCATE
		abi5 = abi3 | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		abi9 = abi5 | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	)
	switch {
	case abi >= 9:
		return abi9
	case abi >= 5:
		return abi5
	case abi >= 3:
		return abi3
	case abi == 2:
		return abi2
	case abi == 1:
		return abi1
	}
	return 0
}

// handled is everything that the ruleset of this cage restricts.
func handled(net guard.Net, abi int) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handledFS(abi)}
	if abi >= 4 && net == guard.NetNone {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
}

// newRuleset is the cage's one Landlock ruleset. A second layer could only
// take rights away from every rule alike, and there are 16 at most.
func newRuleset(c *guard.Cage, places []place, abi int) (int, error) {
	attr := handled(c.Net, abi)
	// A longer struct than the kernel's is fine while its tail is zero, but
	// 5.13 to 6.6 take 8 bytes, and a short one says what is meant.
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if abi >= 4 {
		size = unsafe.Offsetof(attr.Scoped)
	}
	if abi >= 6 {
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return -1, fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	ruleset := int(fd)
	for i := range places {
		p := &places[i]
		if err := addRule(ruleset, p.fd, uint64(p.rights)&attr.Handled_access_fs); err != nil {
			unix.Close(ruleset)
			return -1, err
		}
	}
	if attr.Handled_access_fs&unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX != 0 {
		for _, name := range c.Sockets {
			if err := addSocket(ruleset, name); err != nil {
				unix.Close(ruleset)
				return -1, err
			}
		}
	}
	return ruleset, nil
}

// addRule gives rights to what fd is open on. A pipe or a socket has no place
// in the tree (EBADFD) and needs no rule.
func addRule(ruleset, fd int, rights uint64) error {
	if rights == 0 {
		return nil
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 && errno != unix.EBADFD {
		return fmt.Errorf("landlock_add_rule: %w", errno)
	}
	return nil
}

// addSocket lets the Unix socket name be connected to (ABI 9). One that is not
// there cannot be.
func addSocket(ruleset int, name string) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.ELOOP:
		return nil
	default:
		return fmt.Errorf("open %q: %w", name, err)
	}
	defer unix.Close(fd)
	return addRule(ruleset, fd, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX)
}

// restrictSelf puts the calling thread into the domain of ruleset, for good.
// It needs no_new_privs, or EPERM.
func restrictSelf(ruleset int) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

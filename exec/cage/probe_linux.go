package cage

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/guard"
)

// Probe says what this kernel can enforce for this process. It asks once and
// remembers; it must not be called for the first time on a confined thread.
// Safe for concurrent use.
//
// Mounts is reported if CAP_SYS_ADMIN is effective. A container's own filter
// may still refuse unshare(2): then Confine fails at StageMounts, which is the
// strict answer.
func Probe() guard.Kernel { return probed() }

var probed = sync.OnceValue(probe)

func probe() guard.Kernel {
	return guard.Kernel{Landlock: landlockABI(), Seccomp: haveSeccomp(), Mounts: haveMounts()}
}

// landlockABI is 0 where Landlock is not built in (ENOSYS) or not enabled at
// boot (EOPNOTSUPP), landlock_create_ruleset(2).
func landlockABI() int {
	v, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// haveSeccomp asks for the newest action that the filter uses (Linux 4.14),
// which also says that seccomp(2) is there.
func haveSeccomp() bool {
	if auditArch == 0 {
		return false
	}
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// haveMounts is whether privateView can work: CAP_SYS_ADMIN, mount_setattr
// (Linux 5.12), and "/" being the top of a mount, which it is not in a chroot
// into a plain directory.
func haveMounts() bool {
	_, caps, err := getCaps()
	if err != nil || effective(&caps)&(1<<unix.CAP_SYS_ADMIN) == 0 {
		return false
	}
	// A size of 0 is EINVAL if the call exists (mount_setattr(2)).
	if _, _, errno := unix.RawSyscall6(unix.SYS_MOUNT_SETATTR, ^uintptr(0), 0, 0, 0, 0, 0); errno == unix.ENOSYS {
		return false
	}
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, "/", 0, 0, &st) != nil {
		return false
	}
	return st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

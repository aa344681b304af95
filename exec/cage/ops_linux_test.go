//go:build linux && (amd64 || arm64)

package cage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// operate tries the operations that the spec names, each in a directory of its
// own beneath the root, and prints how each ended.
func operate() {
	s := readSpec()
	runtime.LockOSThread()
	for _, name := range s.Ops {
		op := operation(name)
		if op == nil {
			die("no operation %q", name)
		}
		var err error
		if !strings.HasPrefix(name, "here-") {
			err = unix.Chdir(s.Dir + "/" + name)
		}
		if err == nil {
			err = op(s)
		}
		var errno syscall.Errno
		if err != nil && !errors.As(err, &errno) {
			die("%s: %v", name, err)
		}
		fmt.Printf("op %s %d\n", name, int(errno))
	}
	fmt.Println(sentinel + strconv.Itoa(len(s.Ops)))
}

// errWrong is not an errno: the operation did something other than succeed or fail.
var errWrong = syscall.Errno(4095)

// operation finds an operation by name. Each works on the files that plant put
// into its directory: f, a file; d, a directory with a file in it; l, a link.
func operation(name string) func(*spec) error {
	for i := range operations {
		if operations[i].name == name {
			return operations[i].do
		}
	}
	for i := range privateOps {
		if "here-"+privateOps[i].name == name {
			return privateOps[i].do
		}
	}
	return nil
}

// privateOps are tried in the working directory that Confine left, in a
// private view where .envrc, .tools (the same file), .git, ci/flows, out (a link) and way/flows (way is
// a link to real) are protected. Without one, all succeed.
var privateOps = []struct {
	name string
	want syscall.Errno
	do   func(*spec) error
}{
	{"create", 0, func(*spec) error { return open("new", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }},
	{"write", 0, func(*spec) error { return open("f", unix.O_WRONLY|unix.O_TRUNC) }},
	{"chmod", 0, func(*spec) error { return unix.Chmod("f", 0o600) }},
	{"xattr", 0, func(*spec) error { return unix.Setxattr("f", "user.a", []byte("b"), 0) }},
	{"rename", 0, func(*spec) error { return unix.Rename("f", "g") }},
	{"rename-over-dirs", 0, func(*spec) error { return unix.Rename("g", "sub/g") }},
	{"link", 0, func(*spec) error { return unix.Link("sub/g", "f") }},
	{"ci-create", 0, func(*spec) error { return open("ci/new", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }},
	{"by-path", 0, func(s *spec) error { return open(s.Dir+"/new2", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }},
	{"tmp", 0, func(s *spec) error { return open(s.Tmp+"/new", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }},
	{"device", 0, func(*spec) error { return open("/dev/null", unix.O_WRONLY) }},

	{"read-protected", 0, func(*spec) error { _, err := os.ReadFile(".envrc"); return err }},
	{"write-protected", unix.EROFS, func(*spec) error { return open(".envrc", unix.O_WRONLY) }},
	{"write-protected-by-path", unix.EROFS, func(s *spec) error { return open(s.Dir+"/.envrc", unix.O_WRONLY) }},
	{"write-protected-by-dots", unix.EROFS, func(*spec) error { return open("sub/../.envrc", unix.O_WRONLY) }},
	{"write-protected-by-proc", unix.EROFS, func(*spec) error { return open("/proc/self/cwd/.envrc", unix.O_WRONLY) }},
	{"chmod-protected", unix.EROFS, func(*spec) error { return unix.Chmod(".envrc", 0o755) }},
	{"truncate-protected", unix.EROFS, func(*spec) error { return unix.Truncate(".envrc", 0) }},
	{"unlink-protected", unix.EBUSY, func(*spec) error { return unix.Unlink(".envrc") }},
	{"rename-protected", unix.EBUSY, func(*spec) error { return unix.Rename(".envrc", "x") }},
	{"rename-onto-protected", unix.EBUSY, func(*spec) error { return unix.Rename("new2", ".envrc") }},
	{"unlink-other-name-of-protected", unix.EBUSY, func(*spec) error { return unix.Unlink(".tools") }},
	{"link-protected", unix.EXDEV, func(*spec) error { return unix.Link(".envrc", "x") }},
	{"create-in-protected", unix.EROFS, func(*spec) error { return open(".git/hooks/x", unix.O_WRONLY|unix.O_CREAT) }},
	{"unlink-in-protected", unix.EROFS, func(*spec) error { return unix.Unlink(".git/hooks/pre-commit") }},
	{"rename-protected-dir", unix.EBUSY, func(*spec) error { return unix.Rename(".git", "x") }},
	{"exchange-protected-dir", unix.EBUSY, func(*spec) error {
		return unix.Renameat2(unix.AT_FDCWD, ".git", unix.AT_FDCWD, "sub", unix.RENAME_EXCHANGE)
	}},
	{"rename-parent-of-protected", unix.EBUSY, func(*spec) error { return unix.Rename("ci", "x") }},
	{"create-in-deep-protected", unix.EROFS, func(*spec) error { return open("ci/flows/x", unix.O_WRONLY|unix.O_CREAT) }},
	{"unlink-protected-link", unix.EBUSY, func(*spec) error { return unix.Unlink("out") }},
	{"write-through-protected-link", unix.EROFS, func(*spec) error { return open("out", unix.O_WRONLY) }},
	{"write-target-of-protected-link", unix.EROFS, func(*spec) error { return open("real/target", unix.O_WRONLY) }},
	{"unlink-link-on-the-way", unix.EBUSY, func(*spec) error { return unix.Unlink("way") }},
	{"rename-dir-on-the-way", unix.EBUSY, func(*spec) error { return unix.Rename("real", "x") }},
	{"create-behind-link-on-the-way", unix.EROFS, func(*spec) error { return open("way/flows/x", unix.O_WRONLY|unix.O_CREAT) }},
	{"write-beside-link-on-the-way", 0, func(*spec) error { return open("way/new", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }},

	{"chmod-outside", unix.EROFS, func(s *spec) error { return unix.Chmod(s.Outside+"/f", 0o600) }},
	{"utime-outside", unix.EROFS, func(s *spec) error { return unix.Utimes(s.Outside+"/f", make([]unix.Timeval, 2)) }},
	{"xattr-outside", unix.EROFS, func(s *spec) error { return unix.Setxattr(s.Outside+"/f", "user.a", []byte("b"), 0) }},
	{"create-outside", unix.EROFS, func(s *spec) error { return open(s.Outside+"/x", unix.O_WRONLY|unix.O_CREAT) }},
	{"unmount", unix.EPERM, func(*spec) error { return unix.Unmount(".envrc", unix.MNT_DETACH) }},
	{"remount", unix.EPERM, func(*spec) error {
		return unix.MountSetattr(unix.AT_FDCWD, ".envrc", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}},
}

func sys(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func cstr(s string) uintptr {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		die("%v", err)
	}
	keep = append(keep, p)
	return uintptr(unsafe.Pointer(p))
}

// keep holds what only an uintptr points to.
var keep []any

func ptr[T any](v *T) uintptr {
	keep = append(keep, v)
	return uintptr(unsafe.Pointer(v))
}

// readFD opens f for reading only and hands it to do.
func readFD(do func(fd int) error) error {
	fd, err := unix.Open("f", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return errWrong
	}
	defer unix.Close(fd)
	return do(fd)
}

func socketTo(family, kind int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, to)
}

func makeOnly(family, kind, proto int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

const fsIocFSSetXattr = 0x401C5820

// operations are everything that a read-only call must not be able to do, and
// what it must: the twins. want is the errno in a read-only cage on a kernel
// with Landlock ABI 6, free without a cage for root; user is for the same of a
// common user, where it differs.
var operations = []struct {
	name       string
	want, free syscall.Errno
	user       syscall.Errno
	do         func(*spec) error
}{
	// Bytes.
	{"read", 0, 0, 0, func(*spec) error { _, err := os.ReadFile("f"); return err }},
	{"readdir", 0, 0, 0, func(*spec) error { _, err := os.ReadDir("d"); return err }},
	{"follow", 0, 0, 0, func(*spec) error { _, err := os.ReadFile("l"); return err }},
	{"write", unix.EACCES, 0, 0, func(*spec) error { return open("f", unix.O_WRONLY) }},
	{"readwrite", unix.EACCES, 0, 0, func(*spec) error { return open("f", unix.O_RDWR) }},
	{"append", unix.EACCES, 0, 0, func(*spec) error { return open("f", unix.O_WRONLY|unix.O_APPEND) }},
	{"open-truncate", unix.EACCES, 0, 0, func(*spec) error { return open("f", unix.O_RDONLY|unix.O_TRUNC) }},
	{"open3-truncate", unix.EACCES, 0, 0, func(*spec) error { return open("f", unix.O_ACCMODE|unix.O_TRUNC) }},
	{"openat2-truncate", unix.EACCES, 0, 0, func(*spec) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, "f", &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_TRUNC | unix.O_CLOEXEC})
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}},
	{"truncate", unix.EACCES, 0, 0, func(*spec) error { return unix.Truncate("f", 0) }},
	{"create", unix.EACCES, 0, 0, func(*spec) error { return open("n", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }},
	{"tmpfile", unix.EACCES, 0, 0, func(*spec) error { return open(".", unix.O_WRONLY|unix.O_TMPFILE) }},
	{"reopen", unix.EACCES, 0, 0, func(*spec) error {
		return readFD(func(fd int) error { return open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY) })
	}},
	{"read-outside", unix.EACCES, 0, 0, func(s *spec) error { _, err := os.ReadFile(s.Outside + "/f"); return err }},
	{"readdir-outside", unix.EACCES, 0, 0, func(s *spec) error { _, err := os.ReadDir(s.Outside); return err }},

	// Names.
	{"mkdir", unix.EACCES, 0, 0, func(*spec) error { return unix.Mkdir("n", 0o755) }},
	{"rmdir", unix.EACCES, 0, 0, func(*spec) error { return unix.Rmdir("e") }},
	{"unlink", unix.EACCES, 0, 0, func(*spec) error { return unix.Unlink("f") }},
	{"rename", unix.EACCES, 0, 0, func(*spec) error { return unix.Rename("f", "n") }},
	{"rename-away", unix.EACCES, 0, 0, func(s *spec) error { return unix.Rename("f", s.Tmp+"/renamed") }},
	{"rename-in", unix.EACCES, 0, 0, func(s *spec) error {
		if err := os.WriteFile(s.Tmp+"/in", nil, 0o644); err != nil {
			return errWrong
		}
		return unix.Rename(s.Tmp+"/in", "n")
	}},
	{"exchange", unix.EACCES, 0, 0, func(*spec) error {
		return unix.Renameat2(unix.AT_FDCWD, "f", unix.AT_FDCWD, "l", unix.RENAME_EXCHANGE)
	}},
	{"link", unix.EACCES, 0, 0, func(*spec) error { return unix.Link("f", "n") }},
	{"link-away", unix.EXDEV, 0, 0, func(s *spec) error { return unix.Link("f", s.Tmp+"/linked") }},
	{"symlink", unix.EACCES, 0, 0, func(*spec) error { return unix.Symlink("f", "n") }},
	{"mkfifo", unix.EACCES, 0, 0, func(*spec) error { return unix.Mkfifo("n", 0o644) }},
	{"mknod", unix.EACCES, 0, unix.EPERM, func(*spec) error { return unix.Mknod("n", unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3))) }},

	// Modes, owners, times.
	{"chmod", unix.EPERM, 0, 0, func(*spec) error { return unix.Chmod("f", 0o600) }},
	{"fchmod", unix.EPERM, 0, 0, func(*spec) error {
		return readFD(func(fd int) error { return unix.Fchmod(fd, 0o600) })
	}},
	{"fchmodat2", unix.EPERM, 0, 0, func(*spec) error {
		return sys(unix.SYS_FCHMODAT2, atCWD, cstr("f"), 0o600, 0)
	}},
	{"chmod-dir", unix.EPERM, 0, 0, func(*spec) error { return unix.Chmod("d", 0o700) }},
	{"chmod-outside", unix.EPERM, 0, 0, func(s *spec) error { return unix.Chmod(s.Outside+"/f", 0o644) }},
	{"chmod-tmp", unix.EPERM, 0, 0, func(s *spec) error { return unix.Chmod(s.Tmp, 0o755) }},
	{"chown", unix.EPERM, 0, 0, func(*spec) error { return unix.Chown("f", os.Getuid(), os.Getgid()) }},
	{"lchown", unix.EPERM, 0, 0, func(*spec) error { return unix.Lchown("l", os.Getuid(), os.Getgid()) }},
	{"fchown", unix.EPERM, 0, 0, func(*spec) error {
		return readFD(func(fd int) error { return unix.Fchown(fd, os.Getuid(), os.Getgid()) })
	}},
	{"utime", unix.EPERM, 0, 0, func(*spec) error { return unix.Utimes("f", make([]unix.Timeval, 2)) }},
	{"utimensat", unix.EPERM, 0, 0, func(*spec) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, "f", make([]unix.Timespec, 2), 0)
	}},
	{"futimens", unix.EPERM, 0, 0, func(*spec) error {
		return readFD(func(fd int) error { return sys(unix.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0) })
	}},

	// Attributes.
	{"setxattr", unix.EPERM, 0, 0, func(*spec) error { return unix.Setxattr("f", "user.a", []byte("b"), 0) }},
	{"lsetxattr", unix.EPERM, 0, 0, func(*spec) error { return unix.Lsetxattr("f", "user.a", []byte("b"), 0) }},
	{"fsetxattr", unix.EPERM, 0, 0, func(*spec) error {
		return readFD(func(fd int) error { return unix.Fsetxattr(fd, "user.a", []byte("b"), 0) })
	}},
	{"setxattrat", unix.EPERM, 0, 0, func(*spec) error {
		value := []byte("b")
		args := struct {
			value uint64
			size  uint32
			flags uint32
		}{uint64(ptr(&value[0])), 1, 0}
		return sys(unix.SYS_SETXATTRAT, atCWD, cstr("f"), 0, cstr("user.a"), ptr(&args), unsafe.Sizeof(args))
	}},
	{"removexattr", unix.EPERM, unix.ENODATA, unix.ENODATA, func(*spec) error { return unix.Removexattr("f", "user.none") }},
	{"lremovexattr", unix.EPERM, unix.ENODATA, unix.ENODATA, func(*spec) error { return unix.Lremovexattr("f", "user.none") }},
	{"fremovexattr", unix.EPERM, unix.ENODATA, unix.ENODATA, func(*spec) error {
		return readFD(func(fd int) error { return unix.Fremovexattr(fd, "user.none") })
	}},
	{"removexattrat", unix.EPERM, unix.ENODATA, unix.ENODATA, func(*spec) error {
		return sys(unix.SYS_REMOVEXATTRAT, atCWD, cstr("f"), 0, cstr("user.none"))
	}},
	{"getxattr", unix.ENODATA, unix.ENODATA, unix.ENODATA, func(*spec) error { _, err := unix.Getxattr("f", "user.none", nil); return err }},
	{"file_setattr", unix.EPERM, 0, 0, func(*spec) error {
		var attr struct{ _, _, _, _, _, _ uint32 }
		return sys(unix.SYS_FILE_SETATTR, atCWD, cstr("f"), ptr(&attr), unsafe.Sizeof(attr), 0)
	}},
	{"setflags", unix.EPERM, 0, 0, func(*spec) error {
		return readFD(func(fd int) error {
			flags := int32(0x40) // FS_NODUMP_FL
			return sys(unix.SYS_IOCTL, uintptr(fd), unix.FS_IOC_SETFLAGS, ptr(&flags))
		})
	}},
	{"setflags-high", unix.EPERM, 0, 0, func(*spec) error {
		return readFD(func(fd int) error {
			flags := int32(0)
			return sys(unix.SYS_IOCTL, uintptr(fd), 1<<32|unix.FS_IOC_SETFLAGS, ptr(&flags))
		})
	}},
	{"fssetxattr", unix.EPERM, 0, 0, func(*spec) error {
		return readFD(func(fd int) error {
			var attr [28]byte
			return sys(unix.SYS_IOCTL, uintptr(fd), fsIocFSSetXattr, ptr(&attr))
		})
	}},
	{"getflags", 0, 0, 0, func(*spec) error {
		return readFD(func(fd int) error {
			_, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
			return err
		})
	}},

	// Network.
	{"tcp", unix.EPERM, 0, 0, func(s *spec) error {
		return socketTo(unix.AF_INET, unix.SOCK_STREAM, &unix.SockaddrInet4{Port: s.TCP, Addr: [4]byte{127, 0, 0, 1}})
	}},
	{"udp", unix.EPERM, 0, 0, func(s *spec) error {
		return socketTo(unix.AF_INET, unix.SOCK_DGRAM, &unix.SockaddrInet4{Port: s.TCP, Addr: [4]byte{127, 0, 0, 1}})
	}},
	{"udp6", unix.EPERM, 0, 0, func(*spec) error {
		err := makeOnly(unix.AF_INET6, unix.SOCK_DGRAM, 0)
		if err == unix.EAFNOSUPPORT {
			return nil // a kernel without it
		}
		return err
	}},
	{"raw", unix.EPERM, 0, unix.EPERM, func(*spec) error { return makeOnly(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
	{"unix", unix.EPERM, 0, 0, func(s *spec) error {
		return socketTo(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: s.Socket})
	}},
	{"abstract", unix.EPERM, 0, 0, func(s *spec) error {
		return socketTo(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: "@" + s.Abstract})
	}},
	{"netlink", unix.EPERM, 0, 0, func(*spec) error { return makeOnly(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) }},
	{"packet", unix.EPERM, 0, unix.EPERM, func(*spec) error { return makeOnly(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	{"socketpair", 0, 0, 0, func(*spec) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		if _, err := unix.Write(fds[0], []byte("x")); err != nil {
			return err
		}
		_, err = unix.Read(fds[1], make([]byte, 1))
		return err
	}},
	{"socketpair-datagram", unix.EPERM, 0, 0, func(s *spec) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		// Without the filter this reaches a socket by its path.
		return unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: s.Socket + ".datagram"})
	}},

	// The terminal on descriptor 0.
	{"tiocsti", unix.EPERM, 0, unix.EIO, func(*spec) error {
		c := byte('x')
		return sys(unix.SYS_IOCTL, 0, unix.TIOCSTI, ptr(&c))
	}},
	{"tiocsti-high", unix.EPERM, 0, unix.EIO, func(*spec) error {
		c := byte('x')
		return sys(unix.SYS_IOCTL, 0, 1<<40|unix.TIOCSTI, ptr(&c))
	}},
	{"tioclinux", unix.EPERM, unix.ENOTTY, unix.ENOTTY, func(*spec) error {
		var arg [16]byte
		return sys(unix.SYS_IOCTL, 0, unix.TIOCLINUX, ptr(&arg))
	}},
	{"tcgets", 0, 0, 0, func(*spec) error { _, err := unix.IoctlGetTermios(0, unix.TCGETS); return err }},
	{"tcsets", 0, 0, 0, func(*spec) error {
		tio, err := unix.IoctlGetTermios(0, unix.TCGETS)
		if err != nil {
			return err
		}
		return unix.IoctlSetTermios(0, unix.TCSETSW, tio)
	}},
	{"winsize", 0, 0, 0, func(*spec) error { _, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ); return err }},

	{"device-ioctl", unix.EACCES, unix.ENOTTY, unix.ENOTTY, func(*spec) error { return ioctlOf("/dev/zero") }},
	{"device-ioctl-granted", unix.ENOTTY, unix.ENOTTY, unix.ENOTTY, func(*spec) error { return ioctlOf("/dev/null") }},

	// Other processes.
	{"environ", unix.EACCES, 0, 0, func(s *spec) error {
		_, err := os.ReadFile("/proc/" + strconv.Itoa(s.Victim) + "/environ")
		return err
	}},
	{"ptrace", unix.EPERM, 0, 0, func(s *spec) error {
		const seize = 0x4206 // PTRACE_SEIZE; the kernel detaches when we end
		return sys(unix.SYS_PTRACE, seize, uintptr(s.Victim), 0, 0)
	}},
	{"process_vm_readv", unix.EPERM, unix.EFAULT, unix.EFAULT, func(s *spec) error {
		var b [8]byte
		iov := unix.Iovec{Base: &b[0], Len: 8}
		keep = append(keep, &b)
		remote := [2]uintptr{8, 8}
		return sys(unix.SYS_PROCESS_VM_READV, uintptr(s.Victim), ptr(&iov), 1, ptr(&remote), 1, 0)
	}},
	{"signal", unix.EPERM, 0, 0, func(s *spec) error { return unix.Kill(s.Victim, 0) }},
	{"signal-self", 0, 0, 0, func(*spec) error { return unix.Kill(unix.Getpid(), 0) }},
	{"prlimit", unix.EPERM, 0, 0, func(s *spec) error { return unix.Prlimit(s.Victim, unix.RLIMIT_NOFILE, nil, nil) }},
	{"prlimit-self", 0, 0, 0, func(*spec) error {
		var lim unix.Rlimit
		return unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &lim)
	}},
	{"pidfd_getfd", unix.EPERM, 0, 0, func(s *spec) error {
		pidfd, err := unix.PidfdOpen(s.Victim, 0)
		if err != nil {
			return errWrong
		}
		_, err = unix.PidfdGetfd(pidfd, 0, 0)
		return err
	}},

	// The kernel. Where success would change the machine, the arguments are
	// ones that the kernel refuses in another way.
	{"io_uring", unix.EPERM, 0, 0, func(*spec) error {
		var params [120]byte
		fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, ptr(&params), 0)
		if errno != 0 {
			return errno
		}
		return unix.Close(int(fd))
	}},
	{"bpf", unix.EPERM, unix.EINVAL, 0, func(*spec) error {
		return sys(unix.SYS_BPF, 9999, 0, 0)
	}},
	{"perf_event_open", unix.EPERM, unix.EFAULT, unix.EFAULT, func(*spec) error {
		return sys(unix.SYS_PERF_EVENT_OPEN, 0, 0, ^uintptr(0), ^uintptr(0), 0)
	}},
	{"userfaultfd", unix.EPERM, unix.EINVAL, unix.EINVAL, func(*spec) error { return sys(unix.SYS_USERFAULTFD, 0xffff) }},
	{"keyctl", unix.EPERM, 0, 0, func(*spec) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_PROCESS_KEYRING, true)
		return err
	}},
	{"mount", unix.EPERM, unix.ENOENT, 0, func(*spec) error { return unix.Mount("none", "absent", "tmpfs", 0, "") }},
	{"open_tree", unix.EPERM, 0, 0, func(*spec) error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "f", unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}},
	{"unshare-mount", unix.EPERM, 0, unix.EPERM, func(*spec) error { return onThread(func() error { return unix.Unshare(unix.CLONE_NEWNS) }) }},
	{"unshare-user", unix.EPERM, unix.EINVAL, unix.EINVAL, func(*spec) error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{"setns", unix.EPERM, unix.EBADF, unix.EBADF, func(*spec) error { return unix.Setns(-1, 0) }},
	{"chroot", unix.EPERM, 0, unix.EPERM, func(*spec) error { return unix.Chroot("/") }},
	{"sethostname", unix.EPERM, unix.EINVAL, unix.EPERM, func(*spec) error { return sys(unix.SYS_SETHOSTNAME, 0, 4096) }},
	{"clock_settime", unix.EPERM, unix.EINVAL, unix.EINVAL, func(*spec) error { return sys(unix.SYS_CLOCK_SETTIME, 9999, 0) }},
	{"reboot", unix.EPERM, unix.EINVAL, unix.EPERM, func(*spec) error { return sys(unix.SYS_REBOOT, 0, 0, 0) }},
	{"shmget", unix.EPERM, 0, 0, func(*spec) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err != nil {
			return err
		}
		_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		return err
	}},
	{"mq_open", unix.EPERM, unix.ENOENT, unix.ENOENT, func(*spec) error { return sys(unix.SYS_MQ_OPEN, cstr("wrap-none"), 0) }},
	{"clone3", unix.ENOSYS, unix.EINVAL, unix.EINVAL, func(*spec) error { return sys(unix.SYS_CLONE3, 0, 0) }},
	{"not-a-call", unix.ENOSYS, unix.ENOSYS, unix.ENOSYS, func(*spec) error { return sys(4000) }},

	// What a tool needs in order to work at all.
	{"tmp", 0, 0, 0, func(s *spec) error {
		name := s.Tmp + "/spill"
		for range 2 { // the second time over the first
			if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
				return err
			}
		}
		if err := os.Truncate(name, 0); err != nil {
			return err
		}
		return os.Remove(name)
	}},
	{"devnull", 0, 0, 0, func(*spec) error { return open("/dev/null", unix.O_RDWR) }},
	{"exec", 0, 0, 0, func(*spec) error { return hello("/proc/self/exe") }},
	{"exec-memfd", 0, 0, 0, func(*spec) error {
		// Not held, and said so: EXECUTE is no W^X.
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(exe)
		if err != nil {
			return err
		}
		fd, err := unix.MemfdCreate("copy", 0)
		if err != nil {
			return err
		}
		if _, err := os.NewFile(uintptr(fd), "copy").Write(data); err != nil {
			return err
		}
		return hello("/proc/self/fd/" + strconv.Itoa(fd))
	}},
	{"exec-ungranted", unix.EACCES, 0, 0, func(s *spec) error { return hello(s.Outside + "/self") }},
}

const atCWD = ^uintptr(99) // AT_FDCWD

func open(name string, flags int) error {
	fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// ioctlOf asks a device whether it is a terminal.
func ioctlOf(name string) error {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return errWrong
	}
	defer unix.Close(fd)
	_, err = unix.IoctlGetTermios(fd, unix.TCGETS)
	return err
}

// hello runs the test binary, wherever it lies, and expects its greeting.
func hello(path string) error {
	if strings.HasPrefix(path, "/proc/self/exe") {
		path = os.Args[0]
		if exe, err := os.Executable(); err == nil {
			path = exe
		}
	}
	cmd := exec.Command(path)
	cmd.Env = []string{modeEnv + "=hello", raceEnv}
	out, err := cmd.Output()
	if err == nil && string(out) != "hello\n" {
		return errWrong
	}
	return err
}

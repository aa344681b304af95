package cage

import "golang.org/x/sys/unix"

// auditArch is the only machine whose calls the filter lets through. The calls
// of 32 bit programs come as another one; those of x32 come as this one with
// bit 30 of the number set (seccomp(2)), which is in no table.
const auditArch = unix.AUDIT_ARCH_X86_64

// archCalls are the system calls that amd64 has and arm64 has not: most are
// older forms.
var archCalls = [...]call{
	// As their successors in commonCalls.
	{unix.SYS_CREATE_MODULE, never},
	{unix.SYS_QUERY_MODULE, never},
	{unix.SYS_GET_KERNEL_SYMS, never},
	{unix.SYS_USELIB, never},

	// Processor state that reaches beyond the process, or that only old exploits use.
	{unix.SYS_IOPL, never},
	{unix.SYS_IOPERM, never},
	{unix.SYS_MODIFY_LDT, never},

	{unix.SYS_CHMOD, attr},
	{unix.SYS_CHOWN, attr},
	{unix.SYS_LCHOWN, attr},
	{unix.SYS_UTIME, attr},
	{unix.SYS_UTIMES, attr},
	{unix.SYS_FUTIMESAT, attr},

	// creat opens for writing, which Landlock judges before it truncates.
	{unix.SYS_OPEN, flags1},

	{unix.SYS_CREAT, allow},
	{unix.SYS_ACCESS, allow},
	{unix.SYS_STAT, allow},
	{unix.SYS_LSTAT, allow},
	{unix.SYS_READLINK, allow},
	{unix.SYS_LINK, allow},
	{unix.SYS_SYMLINK, allow},
	{unix.SYS_UNLINK, allow},
	{unix.SYS_RENAME, allow},
	{unix.SYS_MKDIR, allow},
	{unix.SYS_RMDIR, allow},
	{unix.SYS_MKNOD, allow},
	{unix.SYS_USTAT, allow},
	{unix.SYS_SYSFS, allow},
	{unix.SYS_GETDENTS, allow},
	{unix.SYS_PIPE, allow},
	{unix.SYS_DUP2, allow},
	{unix.SYS_POLL, allow},
	{unix.SYS_SELECT, allow},
	{unix.SYS_EPOLL_CREATE, allow},
	{unix.SYS_EPOLL_WAIT, allow},
	{unix.SYS_EVENTFD, allow},
	{unix.SYS_SIGNALFD, allow},
	{unix.SYS_INOTIFY_INIT, allow},
	{unix.SYS_FORK, allow},
	{unix.SYS_VFORK, allow},
	{unix.SYS_PAUSE, allow},
	{unix.SYS_ALARM, allow},
	{unix.SYS_TIME, allow},
	{unix.SYS_GETPGRP, allow},
	{unix.SYS_ARCH_PRCTL, allow},
	{unix.SYS_SET_THREAD_AREA, allow},
	{unix.SYS_GET_THREAD_AREA, allow},

	// The kernel's own trampolines for user probes: refusing one kills a traced program.
	{unix.SYS_URETPROBE, allow},
	{unix.SYS_UPROBE, allow},

	// Never written, or gone.
	{unix.SYS_AFS_SYSCALL, absent},
	{unix.SYS_TUXCALL, absent},
	{unix.SYS_SECURITY, absent},
	{unix.SYS_GETPMSG, absent},
	{unix.SYS_PUTPMSG, absent},
	{unix.SYS_VSERVER, absent},
	{unix.SYS_EPOLL_CTL_OLD, absent},
	{unix.SYS_EPOLL_WAIT_OLD, absent},
	{unix.SYS__SYSCTL, absent},
}

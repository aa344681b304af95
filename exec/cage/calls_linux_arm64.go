package cage

import "golang.org/x/sys/unix"

// auditArch is the only machine whose calls the filter lets through. The calls
// of 32 bit programs come as another one.
const auditArch = unix.AUDIT_ARCH_AARCH64

// archCalls are the system calls that arm64 has and amd64 has not.
var archCalls = [...]call{
	// The first of sixteen numbers kept for machines, and not used on this one.
	{unix.SYS_ARCH_SPECIFIC_SYSCALL, absent},
}

//go:build linux && (amd64 || arm64)

package cage

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/guard"
)

// policy is what the filter is made from.
type policy struct {
	net guard.Net
	// unix: sockets of the family AF_UNIX can be made.
	unix bool
	// noAttr: no attribute of a file can be changed, and no ioctl passes but
	// those known to change nothing.
	noAttr bool
	// noTruncate: Landlock does not hold truncation (before ABI 3), and the
	// call may not truncate.
	noTruncate bool
}

func policyOf(c *guard.Cage, k guard.Kernel) policy {
	return policy{
		net: c.Net, unix: len(c.Sockets) > 0, noAttr: c.NoAttr,
		noTruncate: c.NoAttr && k.Landlock < 3,
	}
}

// class is how a system call is treated. The zero class is of a call that
// nobody has looked at.
type class uint8

const (
	unknown class = iota // ENOSYS, as on a kernel without it
	absent               // ENOSYS, so that callers take the older call
	allow
	never   // EPERM in every cage
	attr    // EPERM where policy.noAttr
	reach   // EPERM where there is no network and no Unix socket
	trunc   // EPERM where policy.noTruncate
	opaque  // flags in memory: ENOSYS where policy.noTruncate
	flags1  // open(2): flags in argument 1
	flags2  // openat(2): flags in argument 2
	newNS   // clone(2), unshare(2): namespace flags in argument 0
	limits  // prlimit64(2): of another process
	control // ioctl(2)
	socket  // socket(2)
	pair    // socketpair(2)
	classes // how many there are
)

// namespaces are the flags that make one. CLONE_NEWTIME lies among the bits of
// clone's exit signal, means something for unshare only, and is no valid
// signal there (128 is more than _NSIG).
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

// call is a system call's number and class.
type call struct {
	nr    uint16
	class class
}

// maxCall is above every number in use; x32 numbers and whatever comes later
// are far above it, or at least not in the table.
const maxCall = 512

// assemble is the filter for a machine whose calls are in tables.
//
// A 64 bit argument that the kernel reads as an int is compared by its low
// half, as the kernel does (ioctl's command, socket's family, open's flags):
// the upper half would be a way around.
func assemble(pol policy, arch uint32, tables ...[]call) []unix.SockFilter {
	p := program{rev: make([]unix.SockFilter, 0, 320)}
	kill := p.ret(unix.SECCOMP_RET_KILL_PROCESS)
	enosys := p.ret(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	eperm := p.ret(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	pass := p.ret(unix.SECCOMP_RET_ALLOW)
	unless := func(refused bool, otherwise label) label {
		if refused {
			return otherwise
		}
		return pass
	}
	var to [classes]label
	to[unknown] = enosys
	to[absent] = enosys
	to[allow] = pass
	to[never] = eperm
	to[attr] = unless(pol.noAttr, eperm)
	to[reach] = unless(pol.net == guard.NetNone && !pol.unix, eperm)
	to[trunc] = unless(pol.noTruncate, eperm)
	to[opaque] = unless(pol.noTruncate, enosys)
	to[flags1], to[flags2] = pass, pass
	if pol.noTruncate {
		to[flags1] = p.openFlags(1, pass, eperm)
		to[flags2] = p.openFlags(2, pass, eperm)
	}
	to[newNS] = p.then(loadWord, offArg(0), p.branch(jumpSet, namespaces, eperm, pass))
	// Another process's limits can end it, past Landlock's scope for signals.
	to[limits] = p.then(loadWord, offArg(0), p.branch(jumpEq, 0, pass, eperm))
	to[control] = p.ioctl(pol, pass, eperm)
	to[socket] = p.socket(pol, pass, eperm)
	to[pair] = p.socketpair(pol, pass, eperm)

	var known [maxCall]class
	for _, table := range tables {
		for _, c := range table {
			known[c.nr] = c.class
		}
	}
	spans := make([]span, 1, maxCall/2)
	spans[0] = span{0, to[known[0]]}
	for nr := 1; nr < maxCall; nr++ {
		if l := to[known[nr]]; l != spans[len(spans)-1].to {
			spans = append(spans, span{uint32(nr), l})
		}
	}
	if spans[len(spans)-1].to != enosys {
		spans = append(spans, span{maxCall, enosys})
	}
	number := p.then(loadWord, offNumber, p.search(spans))
	return p.code(p.then(loadWord, offArch, p.branch(jumpEq, arch, number, kill)))
}

// openFlags refuses O_TRUNC together with an access mode that is not for
// writing. Only that escapes Landlock before ABI 3: truncation needs no right
// there, but opening for writing does. Mode 3 opens for neither (open(2)).
func (p *program) openFlags(arg int, pass, refuse label) label {
	mode := p.branch(jumpEq, unix.O_WRONLY, pass, p.branch(jumpEq, unix.O_RDWR, pass, refuse))
	mode = p.then(andConst, unix.O_ACCMODE, mode)
	return p.then(loadWord, offArg(arg), p.branch(jumpSet, unix.O_TRUNC, mode, pass))
}

// socket allows families by list. Netlink gives a network's users the
// addresses and routes that getaddrinfo(3) sorts by, and nothing else;
// changing them takes capabilities that no cage leaves.
func (p *program) socket(pol policy, pass, refuse label) label {
	unixTo, inetTo, netlinkTo := refuse, refuse, refuse
	if pol.unix {
		unixTo = pass
	}
	if pol.net == guard.NetAll {
		inetTo = pass
		netlinkTo = p.then(loadWord, offArg(2), p.branch(jumpEq, unix.NETLINK_ROUTE, pass, refuse))
	}
	return p.then(loadWord, offArg(0), p.search([]span{
		{0, refuse},
		{unix.AF_UNIX, unixTo},
		{unix.AF_INET, inetTo},
		{unix.AF_INET + 1, refuse},
		{unix.AF_INET6, inetTo},
		{unix.AF_INET6 + 1, refuse},
		{unix.AF_NETLINK, netlinkTo},
		{unix.AF_NETLINK + 1, refuse},
	}))
}

// socketpair allows Unix streams only, without policy.unix: an end of a
// datagram pair can send to, and be connected to, any other socket by its path
// (unix(7)).
func (p *program) socketpair(pol policy, pass, refuse label) label {
	kind := pass
	if !pol.unix {
		const typeMask = 0xf // of SOCK_NONBLOCK and SOCK_CLOEXEC, socket(2)
		kind = p.branch(jumpEq, unix.SOCK_STREAM, pass, p.branch(jumpEq, unix.SOCK_SEQPACKET, pass, refuse))
		kind = p.then(andConst, typeMask, kind)
		kind = p.then(loadWord, offArg(1), kind)
	}
	return p.then(loadWord, offArg(0), p.branch(jumpEq, unix.AF_UNIX, kind, refuse))
}

// ioctl refuses the commands that type into a terminal or rewire it; without
// attribute changes it refuses everything that is not known to be harmless.
func (p *program) ioctl(pol policy, pass, refuse label) label {
	listed, other, list := refuse, pass, refusedIoctls[:]
	if pol.noAttr {
		listed, other, list = pass, refuse, allowedIoctls[:]
	}
	spans := make([]span, 1, 2*len(list)+1)
	spans[0] = span{0, other}
	for _, r := range list {
		if r.net && pol.net == guard.NetNone {
			continue
		}
		if last := &spans[len(spans)-1]; last.from == r.first {
			last.to = listed // r follows its predecessor without a gap
		} else {
			spans = append(spans, span{r.first, listed})
		}
		spans = append(spans, span{r.last + 1, other})
	}
	return p.then(loadWord, offArg(1), p.search(spans))
}

// installFilter puts the filter on the calling thread, for good. It needs
// no_new_privs, or EACCES.
func installFilter(c *guard.Cage, k guard.Kernel) error {
	code := assemble(policyOf(c, k), auditArch, commonCalls[:], archCalls[:])
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}

//go:build linux && (amd64 || arm64)

package cage

import "golang.org/x/sys/unix"

// commands is a range of ioctl commands, both ends included.
type commands struct {
	first, last uint32
	// net: of use on the sockets of a network only.
	net bool
}

// refusedIoctls are refused in every cage. In ascending order.
var refusedIoctls = [...]commands{
	// A console's keys, fonts and modes (ioctl_console(2)): what a key types
	// can be changed by whoever has the console open.
	{0x4B00, 0x4BFF, false},
	{unix.TIOCSTI, unix.TIOCSTI, false},         // types into a terminal
	{unix.TIOCLINUX, unix.TIOCCONS, false},      // pastes into one; takes over its output
	{unix.TIOCSETD, unix.TIOCSETD, false},       // exchanges the line discipline under the caller
	{unix.TIOCVHANGUP, unix.TIOCVHANGUP, false}, // ends the caller's session
	{0x5600, 0x56FF, false},                     // virtual terminals (ioctl_vt)
}

// Commands that the unix package does not name, from linux/fs.h, fiemap.h and
// asm-generic/ioctls.h.
const (
	figetbsz        = 2
	fionclex        = 0x5450
	fioasync        = 0x5452
	fioqsize        = 0x5460
	fsIocGetVersion = 0x80087601
	fsIocFSGetXattr = 0x801C581F
	fsIocFiemap     = 0xC020660B
)

// allowedIoctls are all that pass in a call that may change no attribute: they
// read, or change a descriptor or the terminal, or write through a descriptor
// that is open for writing. In ascending order; what is missing between two was
// left out on purpose. A driver's commands are all missing: no cage of such a
// call opens a device that has any.
var allowedIoctls = [...]commands{
	{figetbsz, figetbsz, false},
	{unix.TCGETS, unix.TCFLSH, false},      // modes, flow and queues of the terminal: editors and pagers set them
	{unix.TIOCSCTTY, unix.TIOCOUTQ, false}, // controlling terminal, foreground group
	{unix.TIOCGWINSZ, unix.TIOCSWINSZ, false},
	{unix.TIOCINQ, unix.TIOCINQ, false},   // FIONREAD
	{unix.TIOCPKT, unix.TIOCNOTTY, false}, // with FIONBIO
	{unix.TIOCGETD, unix.TIOCGETD, false},
	{unix.TIOCGSID, unix.TIOCGSID, false},
	{unix.TIOCGPTPEER, unix.TIOCGPTPEER, false},
	{fionclex, fioasync, false}, // with FIOCLEX
	{fioqsize, fioqsize, false},
	{0x8903, unix.SIOCGSTAMPNS_OLD, true}, // FIOGETOWN, SIOCGPGRP, SIOCATMARK, time stamps
	{unix.SIOCGIFNAME, unix.SIOCGIFNAME, true},
	{unix.SIOCGIFCONF, unix.SIOCGIFFLAGS, true},
	{unix.SIOCGIFADDR, unix.SIOCGIFADDR, true},
	{unix.SIOCGIFDSTADDR, unix.SIOCGIFDSTADDR, true},
	{unix.SIOCGIFBRDADDR, unix.SIOCGIFBRDADDR, true},
	{unix.SIOCGIFNETMASK, unix.SIOCGIFNETMASK, true},
	{unix.SIOCGIFMTU, unix.SIOCGIFMTU, true},
	{unix.SIOCGIFHWADDR, unix.SIOCGIFHWADDR, true},
	{unix.SIOCGIFINDEX, unix.SIOCGIFINDEX, true},
	{unix.TIOCSPTLCK, unix.TIOCSPTLCK, false}, // of a pseudo-terminal's own master
	{unix.FICLONE, unix.FICLONE, false},       // as copying into an open file
	{unix.FICLONERANGE, unix.FICLONERANGE, false},
	{unix.TCSETS2, unix.TCSETSF2, false},
	{unix.TIOCGPTN, unix.TIOCGPTN, false},
	{unix.TIOCGPKT, unix.TIOCGPTLCK, false},
	{unix.FS_IOC_GETFLAGS, unix.FS_IOC_GETFLAGS, false},
	{fsIocGetVersion, fsIocGetVersion, false},
	{unix.SIOCGSTAMP_NEW, unix.SIOCGSTAMPNS_NEW, true},
	{fsIocFSGetXattr, fsIocFSGetXattr, false},
	{unix.TCGETS2, unix.TCGETS2, false},
	{fsIocFiemap, fsIocFiemap, false},
}

package guard

import "slices"

// The names of what a cage holds. They stand in reports and audit records and
// are stable. The first seven make a cage whole.
const (
	holdsFS       = "fs"       // files are reached by rule only
	holdsTruncate = "truncate" // and so are they emptied
	holdsAttr     = "attr"     // modes, owners, times, attributes stay, outside what may be written
	holdsNet      = "net"      // no network beyond Net
	holdsUnix     = "unix"     // no Unix socket but Sockets
	holdsTTY      = "tty"      // nothing is typed into the caller's terminal
	holdsCaps     = "caps"     // no capability but Caps

	holdsProtected = "protected"    // the names of Protect cannot be changed; whole needs it where it is named
	holdsSignals   = "signals"      // no signal leaves the cage; extra
	holdsAbstract  = "abstract"     // no abstract Unix socket outside is reached; extra
	holdsCmdline   = "proc.cmdline" // other processes' command lines cannot be read; extra
)

// Enforced says what a kernel that can do k holds of c, and what of it is
// missing, both in a fixed order. It is what exec/cage does with such a kernel,
// which leaves out what k lacks. "protected", "signals", "abstract" and
// "proc.cmdline" are named only where they matter. Pure.
func (c *Cage) Enforced(k Kernel) (enforced, missing []string) {
	enforced = make([]string, 0, 11)
	say := func(name string, holds bool) {
		if holds {
			enforced = append(enforced, name)
		} else {
			missing = append(missing, name)
		}
	}
	private := c.Private && k.Mounts
	say(holdsFS, k.Landlock >= 1)
	// Below ABI 3 truncation needs no Landlock right.
	say(holdsTruncate, k.Landlock >= 3 || c.NoAttr && k.Seccomp)
	// Landlock has no right for attributes, as of ABI 9.
	say(holdsAttr, c.NoAttr && k.Seccomp || private)
	// Landlock holds TCP alone; the filter refuses whole families.
	say(holdsNet, c.Net == NetAll || k.Seccomp)
	// The filter cannot tell one path from another; RESOLVE_UNIX (ABI 9) can.
	say(holdsUnix, k.Seccomp && (len(c.Sockets) == 0 || k.Landlock >= 9))
	say(holdsTTY, k.Seccomp)
	// Every Linux drops them; the zero Kernel is a system that has none.
	say(holdsCaps, k != Kernel{})
	if len(c.Protect) > 0 && c.changesNames() {
		say(holdsProtected, private)
	}
	say(holdsSignals, k.Landlock >= 6)
	say(holdsAbstract, k.Landlock >= 6)
	if c.opensProc() {
		say(holdsCmdline, false)
	}
	return enforced, missing
}

// Whole is whether nothing of missing is needed for a whole cage.
func Whole(missing []string) bool {
	return !slices.ContainsFunc(missing, func(name string) bool {
		switch name {
		case holdsSignals, holdsAbstract, holdsCmdline:
			return false
		}
		return true
	})
}

// changesNames is whether a rule lets names be made or removed anywhere but in
// the call's own temporary directory.
func (c *Cage) changesNames() bool {
	const names = RemoveDir | RemoveFile | MakeChar | MakeDir | MakeReg | MakeSock | MakeFifo | MakeBlock | MakeSym
	return slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.Rights&names != 0 && r.Path != c.Tmp })
}

// opensProc is whether a rule opens the directory of processes, or a directory
// that holds it.
func (c *Cage) opensProc() bool {
	return slices.ContainsFunc(c.Rules, func(r Rule) bool {
		return (r.Path == "/proc" || r.Path == "/") && r.Rights&ReadFile != 0
	})
}

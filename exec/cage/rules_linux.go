package cage

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/guard"
)

const (
	// fileRights are what a rule on something other than a directory may
	// carry: landlock_add_rule(2) answers EINVAL to any other.
	fileRights = guard.Execute | guard.WriteFile | guard.ReadFile | guard.Truncate | guard.IoctlDev

	// writeRights need a mount that can be written.
	writeRights = guard.WriteFile | guard.Truncate | guard.RemoveDir | guard.RemoveFile | guard.MakeChar |
		guard.MakeDir | guard.MakeReg | guard.MakeSock | guard.MakeFifo | guard.MakeBlock | guard.MakeSym | guard.Refer
)

// place is a rule whose path is open.
type place struct {
	fd     int
	owned  bool // we opened it, we close it
	rights guard.Right
	// For private views only.
	kind uint32 // S_IFMT of the mode
	id   identity
}

// identity tells one file from another for as long as either is open.
type identity struct{ dev, ino uint64 }

func identify(fd int) (identity, uint32, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return identity{}, 0, fmt.Errorf("fstat: %w", err)
	}
	return identity{uint64(st.Dev), uint64(st.Ino)}, st.Mode & unix.S_IFMT, nil
}

// openRules opens what the rules name by path and takes the handles for the
// rest. Rights that the opened thing cannot have are dropped, and so is a rule
// that is left without any.
//
// With identifyAll, every place has its kind and identity; it costs a call each.
//
// A path that is not there, or that this process cannot reach, gets no rule:
// what no rule names is denied, and the child can reach no more than we can.
func openRules(rules []guard.Rule, handles []int, identifyAll bool) ([]place, error) {
	places := make([]place, 0, len(rules))
	for i := range rules {
		r := &rules[i]
		p := place{fd: -1, rights: r.Rights}
		switch {
		case r.Handle >= len(handles):
			closePlaces(places)
			return nil, fmt.Errorf("rule for %q names handle %d of %d: %w", r.Path, r.Handle, len(handles), unix.EBADF)
		case r.Handle >= 0:
			p.fd = handles[r.Handle]
		default:
			fd, err := unix.Open(r.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
			switch err {
			case nil:
			case unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.ELOOP:
				continue
			default:
				closePlaces(places)
				return nil, fmt.Errorf("open %q: %w", r.Path, err)
			}
			p.fd, p.owned = fd, true
		}
		if identifyAll || p.rights&^fileRights != 0 {
			var err error
			if p.id, p.kind, err = identify(p.fd); err != nil {
				closePlaces(append(places, p))
				return nil, fmt.Errorf("rule for %q: %w", r.Path, err)
			}
			if p.kind != unix.S_IFDIR {
				p.rights &= fileRights
			}
		}
		places = append(places, p)
	}
	return places, nil
}

func closePlaces(places []place) {
	for i := range places {
		if places[i].owned {
			unix.Close(places[i].fd)
		}
	}
}

// fdPath is where the kernel says that a descriptor leads. It is a name that
// may be stale at once; whoever opens it compares identities.
func fdPath(fd int) (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf[:])
	if err != nil {
		return "", fmt.Errorf("readlink /proc/self/fd: %w", err)
	}
	if n == len(buf) {
		return "", fmt.Errorf("readlink /proc/self/fd: %w", unix.ENAMETOOLONG)
	}
	return string(buf[:n]), nil
}

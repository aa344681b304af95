package exec

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/guard"
)

var (
	errReplaced = errors.New("was replaced while it was opened")
	errNoFile   = errors.New("is no plain file (a descriptor is named as fd:N)")
)

// openVerdict opens what the guard judged: no link is followed any more, and
// what is opened is the file that was judged.
func openVerdict(v *guard.Verdict, face argv.Face) (*os.File, error) {
	if v.Resolved == "" {
		return nil, errNoFile
	}
	how := unix.OpenHow{
		Flags: unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NONBLOCK, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	switch {
	case !face.Mutates():
		how.Flags |= unix.O_RDONLY
	case v.Exists:
		how.Flags |= unix.O_WRONLY
	default:
		how.Flags |= unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL
		how.Mode = 0o666
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, v.Resolved, &how)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNoFile // a FIFO would hold us
	}
	if err == nil && v.Exists && (st.Dev != v.Dev || st.Ino != v.Ino) {
		err = errReplaced
	}
	if err == nil && v.Exists && face.Mutates() {
		// Only now, so that no other file is ever emptied.
		err = unix.Ftruncate(fd, 0)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), v.Resolved), nil
}

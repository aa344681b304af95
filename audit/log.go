package audit

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// What an *fs.PathError of this package may wrap, beside the system's errnos.
var (
	// ErrBusy: another process held the lock for as long as Append waits.
	ErrBusy = errors.New("locked by another process")
	// ErrUnsafe: the log or its directory is not a file or directory that
	// belongs to this user.
	ErrUnsafe = errors.New("not a regular file and directory of this user's own")
)

const (
	// patience is how long Append waits for the lock while the log does not
	// grow: then one process sits on it. A log that many write to at once grows
	// all the time; longest bounds that wait.
	patience = 250 * time.Millisecond
	longest  = 5 * time.Second
	// maxLine bounds how far back a whole record is looked for.
	maxLine = 16 << 20
	// firstTail is read in one go; nearly every record fits twice.
	firstTail = 8 << 10
)

// Log is the decision log of one state directory. It is safe for concurrent use
// and shares the file with any number of other Logs and processes.
type Log struct {
	path string
	// dir is the state directory, held open: the log is looked up beneath it,
	// whatever the names above it come to mean.
	dir int

	// sem holds one value, which whoever uses what is below has taken out. It
	// is a channel because a wait for it ends.
	sem chan error
	// file is the log: a bare descriptor, as an os.File would start the
	// runtime's poller for it. -1: to be opened.
	file     int
	dev, ino uint64
	buf      []byte
	// hopeless: the last wait was in vain. Until one succeeds Append tries
	// once only, so that a process that sits on the lock delays a call by
	// patience, not by patience for each of its records.
	hopeless bool
}

// Open opens the log of the state directory dir, and makes both where they are
// missing: the directory 0700, the file 0600, and what is wider is narrowed. The
// directory and the file must belong to the effective user and must not be
// links; links above the directory are followed. The error is an *fs.PathError.
func Open(dir string) (*Log, error) {
	path := filepath.Join(dir, FileName)
	fd, err := open(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOENT) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		fd, err = open(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	if _, err := own(fd, unix.S_IFDIR, 0o700); err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	l := &Log{path: path, dir: fd, file: -1, sem: make(chan error, 1)}
	l.sem <- nil
	if err := l.reopen(); err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return l, nil
}

// Path is the name of the log.
func (l *Log) Path() string { return l.path }

// Close closes the files. No Append may follow or be under way.
func (l *Log) Close() error {
	err := unix.Close(l.dir)
	if l.file >= 0 {
		err = errors.Join(err, unix.Close(l.file))
	}
	return err
}

// Append completes r (see Record) and writes it behind the last record, in one
// write, under a lock that all processes share. Whether the call may go on when
// it cannot be recorded is the caller's policy.
//
// The error is an *fs.PathError that wraps ErrBusy, ErrUnsafe or an errno
// (ENOSPC, EDQUOT, EFBIG, EIO, …); the log then holds nothing of r. r must not
// be used by others meanwhile.
func (l *Log) Append(r *Record) error {
	if err := l.append(r); err != nil {
		return &fs.PathError{Op: "append", Path: l.path, Err: err}
	}
	return nil
}

func (l *Log) append(r *Record) error {
	select {
	case <-l.sem:
	default:
		if err := l.await(l.sem); err != nil {
			return err
		}
	}
	defer func() { l.sem <- nil }()

	size, err := l.lock()
	l.hopeless = errors.Is(err, ErrBusy)
	if err != nil {
		return err
	}
	defer flock(l.file, unix.LOCK_UN)

	last, torn, closed, err := l.tail(size)
	if err != nil {
		return err
	}
	r.Schema, r.Seq, r.Prev, r.Torn = Schema, last.seq+1, last.hash, torn
	if r.Time == "" {
		r.Time = time.Now().UTC().Format(time.RFC3339Nano)
	}
	l.buf = l.buf[:0]
	if !closed {
		// What a crash broke off must not swallow this record.
		l.buf = append(l.buf, '\n')
	}
	from := len(l.buf)
	l.buf = encode(l.buf, r)
	l.buf, r.Hash = seal(l.buf, from)
	return l.write(size)
}

// write writes the buffer at the end of the file. A write that the kernel cuts
// short is completed; if that fails, the file gets its old size back.
func (l *Log) write(size int64) error {
	for rest := l.buf; len(rest) > 0; {
		n, err := unix.Write(l.file, rest)
		switch {
		case err == nil && n > 0:
			rest = rest[n:]
		case errors.Is(err, unix.EINTR):
		default:
			if len(rest) < len(l.buf) {
				// If this fails too, the next record closes the fragment and
				// owns up to it.
				unix.Ftruncate(l.file, size)
			}
			if err == nil {
				err = io.ErrShortWrite
			}
			return err
		}
	}
	return nil
}

// lock takes the lock on the file that now bears the log's name, and returns
// its size. A log that was moved away meanwhile is let go of.
func (l *Log) lock() (size int64, err error) {
	for {
		if l.file < 0 {
			if err := l.reopen(); err != nil {
				return 0, err
			}
		}
		if err := l.flock(); err != nil {
			return 0, err
		}
		var named unix.Stat_t
		err := unix.Fstatat(l.dir, FileName, &named, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil && uint64(named.Dev) == l.dev && named.Ino == l.ino {
			return named.Size, nil
		}
		unix.Close(l.file) // and with it the lock
		l.file = -1
	}
}

// flock takes the lock on the open file. flock(2) knows no deadline, and asking
// again and again starves behind writers that are busy, so a wait is a blocking
// call on a thread of its own. If it comes too late, the file is left to it.
func (l *Log) flock() error {
	err := flock(l.file, unix.LOCK_EX|unix.LOCK_NB)
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return err
	}
	if l.hopeless {
		return ErrBusy
	}
	fd, got := l.file, make(chan error, 1)
	go func() { got <- flock(fd, unix.LOCK_EX) }()
	if err = l.await(got); errors.Is(err, ErrBusy) {
		l.file = -1
		go func() {
			<-got
			unix.Close(fd)
		}()
	}
	return err
}

// await receives from c, or gives up with ErrBusy.
func (l *Log) await(c <-chan error) error {
	start, size := time.Now(), l.size()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case err := <-c:
			return err
		case <-timer.C:
			now := l.size()
			if now == size || time.Since(start) > longest {
				return ErrBusy
			}
			size = now
			timer.Reset(patience)
		}
	}
}

// size is that of the file with the log's name, -1 where there is none.
func (l *Log) size() int64 {
	var st unix.Stat_t
	if err := unix.Fstatat(l.dir, FileName, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return -1
	}
	return st.Size
}

// flock is flock(2), restarted.
func flock(fd, how int) error {
	for {
		if err := unix.Flock(fd, how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// reopen opens the file that now bears the log's name.
func (l *Log) reopen() error {
	// O_NONBLOCK: a FIFO of that name must not hold us before it is refused.
	fd, err := open(l.dir, FileName, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	st, err := own(fd, unix.S_IFREG, 0o600)
	if err != nil {
		unix.Close(fd)
		return err
	}
	l.file, l.dev, l.ino = fd, uint64(st.Dev), st.Ino
	return nil
}

// tail finds the last good record of a file of this size. torn counts the
// fragments behind it where the last of them has no newline, closed is false.
func (l *Log) tail(size int64) (last link, torn int, closed bool, err error) {
	last, closed = link{hash: genesis}, true
	for window := int64(firstTail); size > 0; window *= 8 {
		n := min(window, size, maxLine)
		b := make([]byte, n)
		if err := readAt(l.file, b, size-n); err != nil {
			return last, 0, false, err
		}
		closed = b[n-1] == '\n'
		found, fragments, ok := lastGood(bytes.TrimSuffix(b, []byte{'\n'}), n == size)
		if ok || n == size || n == maxLine {
			if ok {
				last = found
			}
			if !closed {
				torn = fragments
			}
			return last, torn, closed, nil
		}
	}
	return last, 0, closed, nil
}

// readAt fills b from the offset.
func readAt(fd int, b []byte, offset int64) error {
	for len(b) > 0 {
		n, err := unix.Pread(fd, b, offset)
		switch {
		case n > 0:
			b, offset = b[n:], offset+int64(n)
		case errors.Is(err, unix.EINTR):
		case err == nil:
			return io.ErrUnexpectedEOF // cut while we hold the lock, by one who takes none
		default:
			return err
		}
	}
	return nil
}

// lastGood looks for the last good record among lines, of which the first is
// whole only if whole is set. fragments counts the lines behind it that are no
// complete records: complete ones that are not good are edits, and not excused.
func lastGood(lines []byte, whole bool) (last link, fragments int, ok bool) {
	for {
		i := bytes.LastIndexByte(lines, '\n')
		if i < 0 && !whole {
			return link{}, fragments, false
		}
		l, complete, good := parseLink(lines[i+1:])
		if good {
			return l, fragments, true
		}
		if !complete {
			fragments++
		}
		if i < 0 {
			return link{}, fragments, false
		}
		lines = lines[:i]
	}
}

// open is openat(2), never through a link at the end of name, and restarted.
func open(dir int, name string, flags int, perm uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// own checks that an open file is of the kind (S_IFMT) and belongs to the
// effective user, and takes from its mode what is beyond perm.
func own(fd int, kind, perm uint32) (unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return st, err
	}
	mode := uint32(st.Mode)
	if mode&unix.S_IFMT != kind || int(st.Uid) != os.Geteuid() {
		return st, ErrUnsafe
	}
	if mode&0o7777&^perm != 0 {
		return st, unix.Fchmod(fd, mode&perm)
	}
	return st, nil
}

package breaker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What an *fs.PathError of this package may wrap, beside the system's errnos.
var (
	// ErrBusy: another process held the lock for as long as a call waits.
	ErrBusy = errors.New("locked by another process")
	// ErrUnsafe: the file or directory is not one of this user's own.
	ErrUnsafe = errors.New("not a regular file and directory of this user's own")
	// ErrCorrupt: the file is not a state of its circuit.
	ErrCorrupt = errors.New("not a circuit's state")

	errFuture = errors.New("written by a newer version")
)

const (
	// patience is how long a call waits for the lock while nothing is written:
	// then one process sits on it. Where many report at once, the directory
	// changes all the time; longest bounds that wait. No call waits twice: a
	// ticket got without the lock is not reported.
	patience = 250 * time.Millisecond
	longest  = 5 * time.Second
	// maxFile bounds what is read of a state.
	maxFile = 64 << 10
	// maxWindow bounds the spans of a state, so that none can lock a tool.
	maxWindow = 24 * time.Hour

	suffix   = ".json"
	lockName = "lock"
)

// store is a directory of states, one file a circuit, each written in whole and
// renamed into place. None is synced: after a power failure one may be empty,
// which reads as corrupt, which counts as closed.
type store struct{ dir string }

func (d *store) path(name string) string { return filepath.Join(d.dir, name) }

// file is the name of a circuit's file. Lengths keep the fields apart.
func file(k Key) string {
	h := sha256.New()
	for _, s := range []string{k.Module, strconv.FormatUint(k.Dev, 10), strconv.FormatUint(k.Ino, 10), k.Root, k.Class} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil)) + suffix
}

// load reads the state of a circuit, fresh where there is none. The error is an
// *fs.PathError; one that wraps errFuture says to leave the file alone.
func (d *store) load(key Key) (*state, error) {
	s, err := d.read(file(key))
	if err != nil {
		return nil, err
	}
	if s == nil {
		return fresh(key), nil
	}
	s.Key = key // the file's may be less exact: JSON is UTF-8
	return s, nil
}

// read reads a state by its file's name, nil where there is none.
func (d *store) read(name string) (*state, error) {
	b, err := readFile(d.path(name))
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	var s *state
	if err == nil {
		s, err = decode(b, name)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: d.path(name), Err: err}
	}
	return s, nil
}

// record is a file's content: the state, and the name that it belongs under.
type record struct {
	ID string `json:"id"`
	*state
}

func encode(s *state) ([]byte, error) {
	b, err := json.Marshal(record{strings.TrimSuffix(file(s.Key), suffix), s})
	return append(b, '\n'), err
}

// decode reads what encode wrote, and takes nothing else.
func decode(b []byte, name string) (*state, error) {
	r := record{state: new(state)}
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, ErrCorrupt // where in the text is of no use to anybody
	}
	if r.Version > version {
		return nil, errFuture
	}
	s := r.state
	ok := s.Version == version && r.ID+suffix == name && s.Generation > 0 && 0 <= s.Failures && s.Failures < 1<<30
	switch s.State {
	case closed:
		ok = ok && s.Lease == nil
	case open:
		ok = ok && s.Lease == nil && s.window.sane()
	case halfOpen:
		ok = ok && (s.Lease == nil || s.Lease.sane() && s.Lease.Token != "")
	default:
		ok = false
	}
	if !ok {
		return nil, ErrCorrupt
	}
	return s, nil
}

func (w window) sane() bool {
	d := w.Until.Sub(w.Since)
	return 0 < d && d <= maxWindow
}

// save writes a state, or removes the file where the state is fresh. The caller
// holds the lock, and has changed something.
func (d *store) save(s *state) error {
	name := d.path(file(s.Key))
	if s.State == closed && s.Failures == 0 && s.Generation == 1 {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	b, err := encode(s)
	if err != nil {
		return err
	}
	// The lock makes the name ours; a file there was left by a crash.
	tmp := name + ".tmp"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, name)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}

// names lists the files of circuits.
func (d *store) names() ([]string, error) {
	all, err := os.ReadDir(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range all {
		if name := e.Name(); strings.HasSuffix(name, suffix) {
			names = append(names, name)
		}
	}
	return names, nil
}

// lock takes the lock that all circuits of the directory share, and makes the
// directory where it is missing. It is held for the time of a read and a write.
func (d *store) lock() (unlock func(), err error) {
	fail := func(name string, err error) (func(), error) {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	dir, err := openOwn(unix.AT_FDCWD, d.dir, unix.O_RDONLY|unix.O_DIRECTORY, unix.S_IFDIR, 0o700)
	if err != nil {
		return fail(d.dir, err)
	}
	defer unix.Close(dir)
	fd, err := openOwn(dir, lockName, unix.O_RDWR|unix.O_CREAT|unix.O_NONBLOCK, unix.S_IFREG, 0o600)
	if err != nil {
		return fail(d.path(lockName), err)
	}
	if err := d.flock(fd); err != nil {
		return fail(d.path(lockName), err)
	}
	return func() { unix.Close(fd) }, nil // and with it the lock
}

// flock takes the lock on fd, or closes it. flock(2) knows no deadline, and
// asking again and again starves behind others that wait in the kernel, so a
// wait is a blocking call on a thread of its own.
func (d *store) flock(fd int) error {
	err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return nil
	}
	if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
		unix.Close(fd)
		return err
	}
	got := make(chan error, 1)
	go func() {
		for {
			err := unix.Flock(fd, unix.LOCK_EX)
			if !errors.Is(err, unix.EINTR) {
				got <- err
				return
			}
		}
	}()
	start, state := time.Now(), d.changed()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case err := <-got:
			if err != nil {
				unix.Close(fd)
			}
			return err
		case <-timer.C:
		}
		now := d.changed()
		if now == state || time.Since(start) > longest {
			go func() {
				<-got
				unix.Close(fd)
			}()
			return ErrBusy
		}
		state = now
		timer.Reset(patience)
	}
}

// changed is when a name in the directory last changed, which every write does.
func (d *store) changed() time.Time {
	st, err := os.Stat(d.dir)
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

// readFile reads a small regular file of this user's own, never through a link.
// A missing one costs a single system call.
func readFile(name string) ([]byte, error) {
	// O_NONBLOCK: a FIFO of that name must not hold us before it is refused.
	fd, err := openOwn(unix.AT_FDCWD, name, unix.O_RDONLY|unix.O_NONBLOCK, unix.S_IFREG, 0o600)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 2<<10)
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case n == 0:
			return b, nil
		default:
			b = b[:len(b)+n]
		}
		if len(b) > maxFile {
			return nil, ErrCorrupt
		}
	}
}

// openOwn is openat(2) for a file of the kind (S_IFMT) that belongs to the
// effective user, never through a link at the end of name. What its mode has
// beyond perm is taken away.
func openOwn(at int, name string, flags int, kind, perm uint32) (int, error) {
	var fd int
	for {
		var err error
		fd, err = unix.Openat(at, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return -1, err
		}
	}
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	mode := uint32(st.Mode)
	switch {
	case err != nil:
	case mode&unix.S_IFMT != kind || int(st.Uid) != os.Geteuid():
		err = ErrUnsafe
	case mode&0o7777&^perm != 0:
		err = unix.Fchmod(fd, mode&perm)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

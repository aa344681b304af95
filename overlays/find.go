package overlays

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/argv"
)

// What FindTool found instead of a program. Test with errors.Is.
var (
	// ErrNotFound: no directory of the pinned PATH has the name (exit 127).
	ErrNotFound = errors.New("not found")
	// ErrNotExecutable: there is a file, and it cannot be executed (exit 126).
	ErrNotExecutable = errors.New("found but not executable")
	// ErrDirectory: the name is a directory. It is ErrNotExecutable too.
	ErrDirectory = errors.New("is a directory")
)

// FindError says why there is no program to run. Err is one of the errors
// above, or what the kernel said about Path.
type FindError struct {
	// Name is what was asked for; Path is the file that was looked at last, ""
	// for none.
	Name, Path string
	Err        error
}

func (e *FindError) Error() string {
	name := argv.Quote(e.Name)
	if e.Path != "" && e.Path != e.Name {
		return name + ": " + argv.Escape(e.Path) + ": " + e.Err.Error()
	}
	return name + ": " + e.Err.Error()
}

func (e *FindError) Unwrap() error { return e.Err }

// Is makes a file that the kernel lets nobody look at, or that is none, a file
// that is not executable: it was found, and nothing further on PATH is tried.
func (e *FindError) Is(target error) bool {
	return target == ErrNotExecutable && e.Path != "" && !errors.Is(e.Err, ErrNotFound)
}

// PathPolicy says where tools may come from. The zero value finds nothing by
// bare name.
type PathPolicy struct {
	// PATH is the search path, of the policy or of the caller.
	PATH string
	// Root is the directory in which the call works, Workdir the absolute path
	// that relative names start from ("" for Root).
	Root, Workdir string
	// Writable are the paths that a grant lets be written. One that is relative
	// starts from Workdir; one that does not exist is passed over.
	Writable []string
	// Own are wrap's own directories: a shim is never the tool behind it.
	Own []string
	// UID is the caller's effective user.
	UID int
}

// Found is a program file.
type Found struct {
	// Path is the file as the search met it, Real the same with all links
	// resolved: the one to execute.
	Path, Real string
	// Trusted: an overlay may describe it. Why says why not.
	Trusted bool
	Why     string
	// PATH is the pinned one: what was asked for less what was dropped. It is
	// what the child is given.
	PATH string
	// Dropped are the PATH entries that are not searched, each followed by the
	// reason in parentheses.
	Dropped []string
	// What fstat(2) says of Real; times in nanoseconds since 1970.
	Dev, Ino, Size uint64
	Mtime, Ctime   int64
}

// Identity names the file's very content as far as stat(2) can tell: a key for
// what was learned by running it.
func (f *Found) Identity() string {
	return fmt.Sprintf("%d:%d:%d:%d:%d", f.Dev, f.Ino, f.Size, f.Mtime, f.Ctime)
}

// FindTool finds the file that name means.
//
// A bare name is looked for in the pinned PATH: that of p less its empty and
// relative entries and those that lie beneath the root, a writable grant or our
// own directories. The working directory is never searched. Unlike execvp(3),
// which goes on to a later entry, the search ends at the first one that has the
// name as anything but a directory: what cannot be executed there is an error,
// so that no other version runs unseen.
//
// A name with a slash is resolved as it stands, from p.Workdir, and is never
// trusted.
//
// A file is trusted if it and every directory that leads to it, links followed,
// is owned by root or the caller and writable by nobody else, and lies beneath
// neither the root nor a writable grant.
//
// The error is a *FindError. The Found is returned with it, and then holds PATH
// and Dropped alone.
//
// It does not protect against: root and the caller, who may exchange the file
// until it is executed; access control lists that give others more than the
// mode says; a file that is bound or hard linked into a trusted directory.
func FindTool(name string, p PathPolicy) (*Found, error) {
	s := newSearch(&p)
	f := &Found{}
	dirs := s.pin(f)
	if name == "" {
		return f, &FindError{Name: name, Err: ErrNotFound}
	}
	if strings.Contains(name, "/") {
		err := s.file(f, name, s.abs(name))
		if err != nil {
			return f, err
		}
		f.Trusted, f.Why = false, "it is named by a path"
		return f, nil
	}
	found := &FindError{Name: name, Err: ErrNotFound}
	for _, dir := range dirs {
		err := s.file(f, name, strings.TrimRight(dir, "/")+"/"+name)
		switch {
		case err == nil:
			return f, nil
		case err.Err == ErrDirectory:
			found = err
		case err.Err != ErrNotFound:
			return f, err
		}
	}
	return f, found
}

// search holds the places from which no trusted tool comes.
type search struct {
	p       *PathPolicy
	workdir string
	places  []place
	seen    *seen
}

// place is a directory, or file, whose identity was read. Comparing identities
// makes every spelling of a path the same.
type place struct {
	dev, ino uint64
	what     string
}

// seen is what was looked at in one search: the directories above the entries of
// a PATH are the same ones again and again.
type seen []struct {
	name string
	st   unix.Stat_t
}

func (s *seen) lstat(name string, st *unix.Stat_t) error {
	for i := range *s {
		if (*s)[i].name == name {
			*st = (*s)[i].st
			return nil
		}
	}
	if err := unix.Lstat(name, st); err != nil {
		return err
	}
	*s = append(*s, struct {
		name string
		st   unix.Stat_t
	}{name, *st})
	return nil
}

// holdsSystem is whether the system's own programs lie beneath a root: one that
// was named, as wide as it is. Then to lie beneath it says nothing of a program;
// owner and mode still do, and no call is let write the system's directories.
func holdsSystem(root string) bool { return root == "/" || root == "/usr" }

func newSearch(p *PathPolicy) *search {
	s := &search{p: p, workdir: p.Workdir, seen: new(seen)}
	if s.workdir == "" {
		s.workdir = p.Root
	}
	if !holdsSystem(p.Root) {
		s.add("the root", p.Root)
	}
	for _, w := range p.Writable {
		s.add("a writable grant", w)
	}
	return s
}

func (s *search) add(what, path string) {
	var st unix.Stat_t
	if path != "" && unix.Stat(s.abs(path), &st) == nil {
		s.places = append(s.places, place{uint64(st.Dev), uint64(st.Ino), what})
	}
}

func (s *search) abs(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return s.workdir + "/" + path
}

// pin fills in the pinned PATH and returns its entries.
func (s *search) pin(f *Found) []string {
	own := &search{p: s.p, workdir: s.workdir, places: s.places, seen: s.seen}
	for _, o := range s.p.Own {
		own.add("wrap's own directories", o)
	}
	var dirs []string
	if s.p.PATH == "" {
		return nil
	}
	for entry := range strings.SplitSeq(s.p.PATH, ":") {
		why := ""
		switch {
		case entry == "":
			why = "empty"
		case entry[0] != '/':
			why = "relative"
		default:
			// What is missing may come to be later: as far as it exists counts.
			w := own.walk(entry)
			if w.inside != "" {
				why = "beneath " + w.inside
			}
		}
		if why != "" {
			f.Dropped = append(f.Dropped, entry+" ("+why+")")
			continue
		}
		dirs = append(dirs, entry)
	}
	f.PATH = strings.Join(dirs, ":")
	return dirs
}

// file looks at path and fills in f if it is a program.
func (s *search) file(f *Found, name, path string) *FindError {
	w := s.walk(path)
	switch {
	case w.err == unix.ENOENT || w.err == unix.ENOTDIR:
		return &FindError{Name: name, Err: ErrNotFound}
	case w.err != nil:
		return &FindError{Name: name, Path: path, Err: w.err}
	case w.st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return &FindError{Name: name, Path: path, Err: ErrDirectory}
	case w.st.Mode&unix.S_IFMT != unix.S_IFREG:
		return &FindError{Name: name, Path: path, Err: ErrNotExecutable}
	}
	// As the kernel will see it: by effective ids, and noexec mounts included.
	if err := unix.Faccessat(unix.AT_FDCWD, w.real, unix.X_OK, unix.AT_EACCESS); err != nil {
		return &FindError{Name: name, Path: path, Err: ErrNotExecutable}
	}
	f.Path, f.Real = path, w.real
	f.Dev, f.Ino, f.Size = uint64(w.st.Dev), uint64(w.st.Ino), uint64(w.st.Size)
	f.Mtime, f.Ctime = w.st.Mtim.Nano(), w.st.Ctim.Nano()
	switch {
	case w.inside != "":
		f.Why = "it lies beneath " + w.inside
	case w.loose != "":
		f.Why = w.loose
	default:
		f.Trusted = true
	}
	return nil
}

// maxLinks is the kernel's own limit (path_resolution(7)).
const maxLinks = 40

// walked is where a path leads.
type walked struct {
	real string
	st   unix.Stat_t
	err  error
	// inside names the first forbidden place that the way leads through, loose
	// says what on it others could exchange.
	inside, loose string
}

// walk follows path, which is absolute, and judges everything on the way, link
// targets included. It goes on as far as the path exists.
func (s *search) walk(path string) (w walked) {
	rest := []string{path}
	var dirs []string // names of the directories down to the current one
	s.visit(&w, "/")
	links := 0
	for len(rest) > 0 && w.err == nil {
		name, tail, more := strings.Cut(rest[len(rest)-1], "/")
		if rest = rest[:len(rest)-1]; more {
			rest = append(rest, tail)
		}
		if w.st.Mode&unix.S_IFMT != unix.S_IFDIR {
			w.err = unix.ENOTDIR
			return w
		}
		switch name {
		case "", ".":
			continue
		case "..":
			dirs = dirs[:max(0, len(dirs)-1)]
			s.visit(&w, "/"+strings.Join(dirs, "/"))
			continue
		}
		here := "/" + strings.Join(append(dirs[:len(dirs):len(dirs)], name), "/")
		if !s.visit(&w, here) {
			return w
		}
		if w.st.Mode&unix.S_IFMT != unix.S_IFLNK {
			dirs = append(dirs, name)
			continue
		}
		if links++; links > maxLinks {
			w.err = unix.ELOOP
			return w
		}
		target, err := readlink(here)
		if err != nil {
			w.err = err
			return w
		}
		if strings.HasPrefix(target, "/") {
			dirs = nil
		}
		s.visit(&w, "/"+strings.Join(dirs, "/"))
		rest = append(rest, target)
	}
	w.real = "/" + strings.Join(dirs, "/")
	return w
}

// visit reads what here is and judges it. A link is judged by the directory
// that holds it and by where it leads: its own mode means nothing.
func (s *search) visit(w *walked, here string) bool {
	if w.err = s.seen.lstat(here, &w.st); w.err != nil {
		return false
	}
	if w.st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return true
	}
	for _, p := range s.places {
		if w.inside == "" && p.dev == uint64(w.st.Dev) && p.ino == uint64(w.st.Ino) {
			w.inside = p.what
		}
	}
	switch {
	case w.loose != "":
	case w.st.Uid != 0 && int(w.st.Uid) != s.p.UID:
		w.loose = fmt.Sprintf("%s belongs to user %d", here, w.st.Uid)
	case w.st.Mode&0o022 != 0:
		w.loose = here + " is writable by others"
	}
	return true
}

func readlink(path string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink(path, buf)
	if err != nil {
		return "", err
	}
	if n == len(buf) {
		return "", unix.ENAMETOOLONG
	}
	return string(buf[:n]), nil
}

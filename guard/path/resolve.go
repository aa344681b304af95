package path

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
)

// The ways in which a name does not resolve. A system call's errno is wrapped
// instead where one says it better: EACCES, ELOOP (a loop, or a magic link of
// /proc), ENAMETOOLONG, ENOTDIR.
var (
	// ErrEmpty: no file has an empty name.
	ErrEmpty = errors.New("the name is empty")
	// ErrNUL: no file name holds a NUL byte.
	ErrNUL = errors.New("the name holds a NUL byte")
	// ErrDotDot: a ".." behind a name that does not exist. What it means is
	// settled when the name is made, by whoever makes it.
	ErrDotDot = errors.New(`".." behind a name that does not exist`)
	// ErrUnstable: the name meant something else each time it was looked at,
	// or the file it led to has no name any more.
	ErrUnstable = errors.New("the name changes while it is looked at")
	// ErrTooMany: a directory holds more names than were asked for.
	ErrTooMany = errors.New("the directory holds too many names")
	// ErrUnsupported: this system cannot resolve as the guard needs it.
	ErrUnsupported = errors.New("this system has no openat2")
)

// Error says which name did not resolve. Err is one of the errors above or an
// errno.
type Error struct {
	Name string
	Err  error
}

// Error is the cause, without the name: callers have their own way to show it.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap is Err.
func (e *Error) Unwrap() error { return e.Err }

// Dir is an open directory that relative names are resolved from, and its
// canonical path.
type Dir struct {
	FD   int
	Path string
}

// Final says what becomes of a symbolic link at the end of a name.
type Final bool

// The two ways.
const (
	Follow Final = false // what the link leads to is meant
	Itself Final = true  // the link is meant; a name that ends in "/", "." or ".." is followed all the same
)

// File is what a name leads to: a file that exists, or a place where one could
// be made. It owns its descriptors.
type File struct {
	// Literal is the name made absolute and clean by its spelling alone; Path is
	// canonical.
	Literal, Path string
	// Exists tells the two kinds apart. Rest is the part of Path below FD, ""
	// if it exists: one name or more, none of them "..".
	Exists bool
	Rest   string
	// FD is an O_PATH descriptor of the file, or of the deepest directory above
	// that exists; -1 after Close. Base is its canonical path.
	FD   int
	Base string
	// Of what FD leads to.
	Dev, Ino, Nlink, Rdev uint64
	Type                  fs.FileMode // the type bits
	// Kernel: it lies in a file system that is made of the kernel's state.
	Kernel bool
}

// IsDir is whether the file exists and is a directory.
func (f *File) IsDir() bool { return f.Exists && f.Type == fs.ModeDir }

// Clean makes text absolute beneath dir, and clean, by its spelling alone:
// what a person would take it for. It is no resolution.
func Clean(dir, text string) string {
	if !strings.HasPrefix(text, "/") {
		text = dir + "/" + text
	}
	out := make([]byte, 0, len(text))
	for name := range strings.SplitSeq(text, "/") {
		switch name {
		case "", ".":
		case "..":
			out = out[:max(0, strings.LastIndexByte(string(out), '/'))]
		default:
			out = append(out, '/')
			out = append(out, name...)
		}
	}
	if len(out) == 0 {
		return "/"
	}
	return string(out)
}

// Stream is the number of the standard stream that text names, as programs
// and shells take it: /dev/stdin and its kin, /dev/fd/0 to 2, /proc/self/fd/0
// to 2. Only these spellings count, up to doubled slashes and dots.
func Stream(text string) (n int, ok bool) {
	if !strings.HasPrefix(text, "/") || strings.HasSuffix(text, "/") || strings.Contains(text, "..") {
		return 0, false
	}
	switch p := Clean("/", text); p {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	default:
		s, found := strings.CutPrefix(p, "/dev/fd/")
		if !found {
			s, found = strings.CutPrefix(p, "/proc/self/fd/")
		}
		if found && len(s) == 1 && '0' <= s[0] && s[0] <= '2' {
			return int(s[0] - '0'), true
		}
	}
	return 0, false
}

// split cuts the last name off text. Where that is no plain name, last is "".
func split(text string) (dir, last string) {
	i := strings.LastIndexByte(text, '/')
	dir, last = text[:i+1], text[i+1:]
	if last == "." || last == ".." {
		return text, ""
	}
	if dir == "" {
		dir = "."
	}
	return dir, last
}

// retryable: somebody moves names about; look again.
func retryable(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) || errors.Is(err, errMoved)
}

var errMoved = errors.New("moved")

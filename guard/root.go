package guard

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/guard/path"
)

// Root is the directory that a call works in, opened once: operands are
// resolved from its descriptor, the child starts in it, and the cage is built
// from it. So it stays the same directory whatever becomes of its name.
//
// It may be used by many goroutines until Close.
//
// It does not protect against: what is moved into or out of the directory;
// file systems mounted beneath it.
type Root struct {
	file *path.File
	top  *Root // the root that a working directory lies beneath, nil for a root
}

// RootOptions are what OpenRoot is to know. The zero value is the strict one,
// for a caller without a home.
type RootOptions struct {
	// Named: somebody named the directory for this purpose (--root), rather
	// than happened to be in it. Only then may it be too wide.
	Named bool
	// Homes and Own are those of Policy.
	Homes, Own []string
}

// systemDirs are the system's own directories. To work in one of them as a
// whole, or above it, is never what happens by being there.
var systemDirs = [...]string{
	"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys",
	"/usr/bin", "/usr/lib", "/usr/local/bin", "/usr/sbin", "/usr/share", "/var/lib", "/var/log",
	"/Applications", "/Library", "/System", "/Users", "/Volumes", "/private/etc", "/private/var",
}

// OpenRoot opens the directory name, which is relative to the process's working
// directory. The error is a *Refusal if the directory is too wide
// (CodeRootTooWide), or made of devices or processes (CodeRawDevice); anything
// else is the caller's mistake, and says what is wrong with the name.
func OpenRoot(name string, opt RootOptions) (*Root, error) {
	f, err := openDir("root", name, func() (*path.File, error) { return path.OpenDir(name) })
	if err != nil {
		return nil, err
	}
	r := &Root{file: f}
	if ref := r.refuse(opt); ref != nil {
		r.Close()
		return nil, ref
	}
	return r, nil
}

func openDir(what, name string, open func() (*path.File, error)) (*path.File, error) {
	f, err := open()
	switch {
	case err != nil:
	case !f.Exists:
		err = syscall.ENOENT
	case !f.IsDir():
		err = syscall.ENOTDIR
	default:
		err = f.CanList()
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	text := argv.Quote(name)
	switch {
	case errors.Is(err, syscall.ENOENT):
		return nil, fmt.Errorf("%s %s: there is no such directory: %w", what, text, err)
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%s %s is no directory: %w", what, text, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s %s cannot be entered and read by this user: %w", what, text, err)
	}
	return nil, fmt.Errorf("%s %s: %w", what, text, err)
}

func (r *Root) refuse(opt RootOptions) *Refusal {
	p := r.Path()
	regions := path.Regions{Homes: opt.Homes}
	if r.file.Kernel || regions.Role(p) == path.RawDevice {
		return &Refusal{
			Code: CodeRawDevice, Reason: "RawDevice", Arg: -1, Path: p, Role: path.RawDevice,
			Message: "the root " + argv.Quote(p) + " holds devices or processes, no ordinary files",
		}
	}
	if opt.Named {
		return nil
	}
	what := ""
	above := func(dir, is string) {
		if _, ok := path.Beneath(dir, p); ok && what == "" && dir != "" {
			what = is
			if dir != p {
				what = "is above " + argv.Quote(dir)
			}
		}
	}
	if p == "/" {
		what = "is the whole system"
	}
	switch regions.Role(p) {
	case path.CredentialStore:
		what = "holds credentials"
	case path.WorktreeTrusted:
		what = "holds what other programs obey or execute"
	}
	for _, h := range both(opt.Homes) {
		above(h, "is a home directory")
	}
	for _, d := range systemDirs {
		above(d, "is a directory of the system")
	}
	for _, o := range both(opt.Own) {
		above(o, "holds wrap's own files")
	}
	if what == "" {
		return nil
	}
	ref := &Refusal{
		Code: CodeRootTooWide, Reason: "RootTooWide", Arg: -1, Path: p,
		Message: "the root " + argv.Quote(p) + " is too wide: it " + what,
	}
	opt.Named = true
	if r.refuse(opt) == nil {
		change := "--root " + argv.Quote(p)
		ref.Remedy = &Remedy{
			Kind: "flag", Who: "caller", Change: "add " + change,
			Message: "start in a project directory, or add " + change + " to work here all the same",
		}
	}
	return ref
}

// both are the names as they stand, and what they lead to where that differs.
func both(names []string) []string {
	all := make([]string, 0, 2*len(names))
	for _, n := range names {
		if n == "" || n[0] != '/' {
			continue
		}
		n = path.Clean("/", n)
		all = append(all, n)
		if c := path.Canonical(n); c != n {
			all = append(all, c)
		}
	}
	return all
}

// Workdir opens a directory beneath r, for the child to start in. name is
// relative to r, or absolute. The error is a *Refusal if the directory lies
// outside (CodeOutsideRoot); anything else is the caller's mistake.
func (r *Root) Workdir(name string) (*Root, error) {
	f, err := openDir("working directory", name, func() (*path.File, error) { return path.Resolve(r.dir(), name, path.Follow) })
	if err != nil {
		// A place outside is none of the caller's business, there or not.
		if g, gerr := path.Resolve(r.dir(), name, path.Follow); gerr == nil {
			defer g.Close()
			if ref := r.outside(name, g); ref != nil {
				return nil, ref
			}
		}
		return nil, err
	}
	if ref := r.outside(name, f); ref != nil {
		f.Close()
		return nil, ref
	}
	return &Root{file: f, top: r}, nil
}

func (r *Root) outside(name string, f *path.File) *Refusal {
	if _, ok := path.Beneath(f.Path, r.Path()); ok {
		return nil
	}
	return &Refusal{
		Code: CodeOutsideRoot, Reason: "OutsideWorkspace", Arg: -1, Text: name, Path: f.Path, Face: argv.Read, Role: path.Unknown,
		Message: "the working directory " + spell(name, "", f.Path) + " lies outside the root " + argv.Quote(r.Path()),
	}
}

// Path is the directory's canonical path, as it was when it was opened.
func (r *Root) Path() string { return r.file.Path }

// FD is the O_PATH descriptor, which stays r's; -1 after Close.
func (r *Root) FD() int { return r.file.FD }

// Identity is what tells the directory from all others for as long as it is
// open.
func (r *Root) Identity() (dev, ino uint64) { return r.file.Dev, r.file.Ino }

// Close closes the descriptor. It may be called again.
func (r *Root) Close() error {
	r.file.Close()
	return nil
}

func (r *Root) dir() path.Dir { return path.Dir{FD: r.file.FD, Path: r.file.Path} }

// again opens the directory anew, by descriptor. Its path is that of now.
func (r *Root) again() (*path.File, error) {
	if r == nil || r.file == nil || r.file.FD < 0 {
		return nil, os.ErrClosed
	}
	return path.Resolve(r.dir(), ".", path.Follow)
}

// Home is the home directory of the user with this number, by /etc/passwd.
func Home(uid int) (home string, ok bool) { return path.Home(uid) }

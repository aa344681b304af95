package path

import (
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// tries bounds how often a name is looked at while others move it about.
	// openat2(2) gave EAGAIN for 0.5 to 2 % of names with ".." under a storm of
	// renames; in a loop that exchanges a file with a link as fast as it can,
	// every second look finds the name changed behind it.
	tries = 64

	// maxLinks is how many dangling links are followed by hand, as the kernel
	// follows at most 40 links in all (path_resolution(7)).
	maxLinks = 40
)

// Resolve finds what text leads to from the directory dir; an absolute text is
// taken from "/". Links are the kernel's to follow, wherever they lead: whether
// the place is one to be used is the caller's question. Magic links of /proc
// are not followed.
//
// A name that is not there resolves to the place where it would be: the deepest
// directory that exists, which a dangling link is followed to.
//
// The path is what the kernel says of the descriptor, and was found to lead
// back to the same file. The error is an *Error. The caller closes the File.
func Resolve(dir Dir, text string, final Final) (*File, error) {
	switch {
	case text == "":
		return nil, &Error{text, ErrEmpty}
	case strings.IndexByte(text, 0) >= 0:
		return nil, &Error{text, ErrNUL}
	}
	literal := Clean(dir.Path, text)
	for range tries {
		f, err := resolve(dir.FD, text, final, maxLinks)
		if err == nil {
			f.Literal = literal
			return f, nil
		}
		if !retryable(err) {
			return nil, &Error{text, err}
		}
	}
	return nil, &Error{text, ErrUnstable}
}

// resolve looks once. links is how many more dangling links may be followed.
func resolve(dirfd int, text string, final Final, links int) (*File, error) {
	if final == Itself {
		if dir, last := split(text); last != "" {
			return itself(dirfd, dir, last)
		}
	}
	fd, err := open(dirfd, text, 0, 0)
	switch err {
	case nil:
		return describe(fd)
	case unix.ENOENT:
		return missing(dirfd, text, links)
	}
	return nil, err
}

// itself is the name last in the directory dir, a link or not.
func itself(dirfd int, dir, last string) (*File, error) {
	parent, err := resolve(dirfd, dir, Follow, maxLinks)
	if err != nil {
		return nil, err
	}
	if !parent.Exists {
		parent.Rest += "/" + last
		parent.Path += "/" + last
		return parent, nil
	}
	fd, err := open(parent.FD, last, unix.O_NOFOLLOW, 0)
	if err == unix.ENOENT && parent.Type == fs.ModeDir {
		return parent.absent(last), nil
	}
	defer parent.Close()
	if err != nil {
		return nil, err
	}
	return describe(fd)
}

// missing is the place of a name that is not there: some directory on its way
// is, or a link on its way dangles.
func missing(dirfd int, text string, links int) (*File, error) {
	names := strings.Split(text, "/")
	for n := len(names) - 1; n >= 0; n-- {
		dir := strings.Join(names[:n], "/") // "" is dirfd, or "/"
		switch {
		case dir == "" && text[0] == '/':
			dir = "/"
		case dir == "":
			dir = "."
		}
		fd, err := open(dirfd, dir, 0, 0)
		if err == unix.ENOENT && n > 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		f, err := describe(fd)
		if err != nil {
			return nil, err
		}
		return f.below(names[n:], links)
	}
	return nil, errMoved // "" is no name, and "." is there
}

// below is what names lead to from the directory f, of which the first is not
// there as such: it is absent, or a link that dangles. f is closed or returned.
func (f *File) below(names []string, links int) (*File, error) {
	rest := make([]string, 0, len(names))
	for _, name := range names {
		switch name {
		case "", ".":
		case "..":
			f.Close()
			return nil, ErrDotDot
		default:
			rest = append(rest, name)
		}
	}
	if len(rest) == 0 {
		f.Close()
		return nil, errMoved // it was not there a moment ago
	}
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(f.FD, rest[0], buf[:])
	switch {
	case err == unix.ENOENT:
		return f.absent(strings.Join(rest, "/")), nil
	case err == unix.EINVAL: // it is there now, and no link
		err = errMoved
	case err == nil && n == len(buf):
		err = unix.ENAMETOOLONG
	case err == nil && n == 0:
		err = unix.ENOENT
	case err == nil && links == 0:
		err = unix.ELOOP
	case err == nil:
		defer f.Close()
		target := string(buf[:n])
		if len(rest) > 1 {
			target += "/" + strings.Join(rest[1:], "/")
		}
		return resolve(f.FD, target, Follow, links-1)
	}
	f.Close()
	return nil, err
}

// absent turns the directory f into the place of the absent name rest below.
func (f *File) absent(rest string) *File {
	f.Exists, f.Rest = false, rest
	if f.Path != "/" {
		f.Path += "/"
	}
	f.Path += rest
	return f
}

func open(dirfd int, name string, flags, resolve uint64) (int, error) {
	return unix.Openat2(dirfd, name, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_NO_MAGICLINKS | resolve,
	})
}

// describe takes over fd and says what it leads to, by a path that was checked:
// opened by that path, without following any link, the same file appears. So a
// file without a name, which the kernel shows with " (deleted)" behind its last
// one, is told from one that bears such a name, and so is one that was moved
// meanwhile.
func describe(fd int) (*File, error) {
	f := &File{FD: fd, Exists: true}
	err := f.stat()
	if err == nil {
		f.Path, err = readlink(fd)
	}
	if err == nil {
		err = f.check()
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	f.Base = f.Path
	return f, nil
}

func (f *File) stat() error {
	var st unix.Stat_t
	if err := unix.Fstat(f.FD, &st); err != nil {
		return err
	}
	f.Dev, f.Ino, f.Nlink, f.Rdev = uint64(st.Dev), st.Ino, uint64(st.Nlink), uint64(st.Rdev)
	f.Type = fileType(st.Mode)
	var fsys unix.Statfs_t
	if err := unix.Fstatfs(f.FD, &fsys); err != nil {
		return err
	}
	switch uint32(fsys.Type) { // an int32 on some machines
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.SELINUX_MAGIC,
		unix.BPF_FS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.EFIVARFS_MAGIC,
		unix.PSTOREFS_MAGIC, unix.NSFS_MAGIC, unix.BINFMTFS_MAGIC, unix.HUGETLBFS_MAGIC, 0x62656570 /* configfs */, 0x19800202 /* mqueue */ :
		f.Kernel = true
	}
	return nil
}

// check reports errMoved unless f.Path leads to f, with no link on the way.
func (f *File) check() error {
	fd, err := open(unix.AT_FDCWD, f.Path, unix.O_NOFOLLOW, unix.RESOLVE_NO_SYMLINKS)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return errMoved
	default:
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if uint64(st.Dev) != f.Dev || st.Ino != f.Ino {
		return errMoved
	}
	return nil
}

// readlink is where the kernel says that fd leads. It is absolute unless the
// file lies where no path from our "/" leads.
func readlink(fd int) (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf[:])
	switch {
	case err != nil:
		return "", err
	case n == len(buf):
		return "", unix.ENAMETOOLONG
	case n == 0 || buf[0] != '/':
		return "", ErrUnstable
	}
	return string(buf[:n]), nil
}

func fileType(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFCHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}

// OpenDir resolves name from the process's working directory, as Resolve does.
func OpenDir(name string) (*File, error) {
	wd := Dir{FD: unix.AT_FDCWD, Path: "/"}
	if !strings.HasPrefix(name, "/") {
		cwd, err := Resolve(wd, ".", Follow)
		if err != nil {
			return nil, err
		}
		wd.Path = cwd.Path
		cwd.Close()
	}
	return Resolve(wd, name, Follow)
}

// OpenParent is the directory that holds f: FD itself where f is absent and
// wants one name, else the one that its path leads to, if it still holds f.
func (f *File) OpenParent() (*File, error) {
	at, last := f.Base, ""
	if f.Exists {
		i := strings.LastIndexByte(f.Path, '/')
		if at, last = f.Path[:max(i, 1)], f.Path[i+1:]; last == "" {
			at, last = "/", "."
		}
	}
	for range tries {
		p, err := f.openParent(at, last)
		if err == nil || !retryable(err) {
			return p, err
		}
	}
	return nil, &Error{at, ErrUnstable}
}

func (f *File) openParent(at, last string) (*File, error) {
	fd, err := open(unix.AT_FDCWD, at, unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP {
			return nil, &Error{at, ErrUnstable}
		}
		return nil, &Error{at, err}
	}
	p, err := describe(fd)
	if err != nil {
		return nil, err
	}
	p.Literal = p.Path
	if last == "" {
		if p.Dev == f.Dev && p.Ino == f.Ino {
			return p, nil
		}
		p.Close()
		return nil, &Error{at, ErrUnstable}
	}
	child, err := open(p.FD, last, unix.O_NOFOLLOW, unix.RESOLVE_BENEATH)
	if err == nil {
		var st unix.Stat_t
		err = unix.Fstat(child, &st)
		unix.Close(child)
		if err == nil && uint64(st.Dev) == f.Dev && st.Ino == f.Ino {
			return p, nil
		}
	}
	p.Close()
	return nil, &Error{f.Path, ErrUnstable}
}

// CanList is nil if the caller may list the directory f and search it. The
// error is an *Error.
func (f *File) CanList() error {
	err := unix.Faccessat(f.FD, ".", unix.R_OK|unix.X_OK, unix.AT_EACCESS)
	if err != nil {
		return &Error{f.Path, err}
	}
	return nil
}

// Names lists what the directory f holds, at most limit names. The error is an
// *Error, of ErrTooMany where there are more.
func (f *File) Names(limit int) ([]string, error) {
	fd, err := unix.Openat(f.FD, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &Error{f.Path, err}
	}
	defer unix.Close(fd)
	var names []string
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &Error{f.Path, err}
		}
		if n == 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
		if len(names) > limit {
			return nil, &Error{f.Path, ErrTooMany}
		}
	}
}

// Close closes the descriptor. It may be called again.
func (f *File) Close() {
	if f != nil && f.FD >= 0 {
		unix.Close(f.FD)
		f.FD = -1
	}
}

// Has is whether the directory f holds rel: a name, or names with slashes.
// Links at the end are not followed, and a place that cannot be searched holds
// nothing.
func (f *File) Has(rel string) bool {
	var st unix.Stat_t
	return unix.Fstatat(f.FD, rel, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// Canonical is where the clean absolute path name leads, or would if it were
// there; name itself where that cannot be found. It is cheaper than Resolve,
// and not checked: enough to know one more spelling of what is closed.
func Canonical(name string) string {
	fd, err := open(unix.AT_FDCWD, name, 0, 0)
	switch {
	case err == nil:
		defer unix.Close(fd)
		if p, err := readlink(fd); err == nil {
			return p
		}
	case err == unix.ENOENT && name != "/":
		i := strings.LastIndexByte(name, '/')
		return Clean(Canonical(name[:max(i, 1)]), name[i+1:])
	}
	return name
}

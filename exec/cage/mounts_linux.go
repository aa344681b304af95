package cage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// tree is a copy of the mounts at a path, which stays writable.
type tree struct {
	path string
	fd   int // of the copy: detached, later the top of the mount at path
	id   identity
}

// privateView gives the calling thread a mount namespace in which everything
// is read-only but the places that a rule lets be written, binds the protected
// names there over themselves read-only, and enters the working directory anew.
// Nothing of it is seen outside, and it goes with the last process in it.
//
// Descriptors from before still lead into the old, writable mounts. The rules
// built from them are none the worse: Landlock knows files by inode.
//
// It does not protect against: a protected name that is absent now, over which
// nothing can be bound; the directories between a protected link's target and
// the root being exchanged; another mount of the same file system within a
// writable place.
func privateView(places []place, protect []string, dirfd int) error {
	wd, err := fdPath(dirfd)
	if err != nil {
		return err
	}
	wdID, _, err := identify(dirfd)
	if err != nil {
		return err
	}
	trees, err := cloneWritable(places)
	if err != nil {
		return err
	}
	defer func() {
		for i := range trees {
			unix.Close(trees[i].fd)
		}
	}()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare CLONE_NEWNS: %w", err)
	}
	// MS_PRIVATE: nothing of what follows reaches the namespace we came from,
	// and nothing mounted there later appears here, writable.
	view := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY, Propagation: unix.MS_PRIVATE}
	if len(trees) > 0 && trees[0].path == "/" {
		view.Attr_set = 0 // nothing is left to be read-only
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &view); err != nil {
		return fmt.Errorf("mount_setattr /: %w", err)
	}
	for i := range trees {
		if err := attach(&trees[i]); err != nil {
			return err
		}
	}
	if err := pinAll(trees, protect, wd); err != nil {
		return err
	}
	// Last, so that it is entered through everything that was put on top.
	cwd, err := openAgain(wd, wdID)
	if err != nil {
		return err
	}
	defer unix.Close(cwd)
	if err := unix.Fchdir(cwd); err != nil {
		return fmt.Errorf("fchdir: %w", err)
	}
	return nil
}

// cloneWritable copies the mounts at every place that may be written, those of
// short paths first, while they still can be: a descriptor from outside a
// namespace cannot be copied within (open_tree(2), EINVAL). Special files are
// not held by a read-only mount (mount(2), MS_RDONLY) and need no copy.
func cloneWritable(places []place) (trees []tree, err error) {
	defer func() {
		if err != nil {
			for i := range trees {
				unix.Close(trees[i].fd)
			}
			trees = nil
		}
	}()
	var want []tree
	for i := range places {
		p := &places[i]
		if p.rights&writeRights == 0 || p.kind != unix.S_IFDIR && p.kind != unix.S_IFREG {
			continue
		}
		path, err := fdPath(p.fd)
		if err != nil {
			return nil, err
		}
		want = append(want, tree{path: path, fd: p.fd, id: p.id})
	}
	slices.SortStableFunc(want, func(a, b tree) int { return len(a.path) - len(b.path) })
	for _, w := range want {
		// The copy of a directory holds all beneath it.
		if slices.ContainsFunc(trees, func(t tree) bool { _, in := beneath(w.path, t.path); return in }) {
			continue
		}
		if w.fd, err = cloneTree(w.fd); err != nil {
			return trees, fmt.Errorf("%q: %w", w.path, err)
		}
		trees = append(trees, w)
	}
	return trees, nil
}

// cloneTree is a detached, private copy of the mount at fd and those beneath.
func cloneTree(fd int) (int, error) {
	clone, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("open_tree: %w", err)
	}
	// A copy joins the peer group of its source: a mount made in one would
	// appear in the other (mount_namespaces(7)).
	private := unix.MountAttr{Propagation: unix.MS_PRIVATE}
	if err := setattr(clone, &private); err != nil {
		unix.Close(clone)
		return -1, err
	}
	return clone, nil
}

func setattr(fd int, attr *unix.MountAttr) error {
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr); err != nil {
		return fmt.Errorf("mount_setattr: %w", err)
	}
	return nil
}

// attach puts a copy where it was taken from. Nothing can be put over "/" that
// a path from "/" would see, so there the tree is the real one.
func attach(t *tree) error {
	at, err := openAgain(t.path, t.id)
	if err != nil {
		return err
	}
	if t.path == "/" {
		unix.Close(t.fd)
		t.fd = at
		return nil
	}
	defer unix.Close(at)
	return moveMount(t.fd, at)
}

func moveMount(from, to int) error {
	if err := unix.MoveMount(from, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}

var errMoved = errors.New("was replaced while the cage was put on")

// openAgain opens, in the namespace of now, what a descriptor from before led
// to. The path was given by the kernel, so it has no links; if it has now, or
// leads to another file, somebody has been at it.
func openAgain(path string, id identity) (int, error) {
	fd, err := open2(unix.AT_FDCWD, path, unix.O_NOFOLLOW, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return -1, fmt.Errorf("open %q again: %w", path, err)
	}
	got, _, err := identify(fd)
	if err == nil && got != id {
		err = errMoved
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("%q: %w", path, err)
	}
	return fd, nil
}

// open2 is an O_PATH open. openat2(2) may answer EAGAIN where a name above is
// being moved.
func open2(dir int, name string, flags, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: resolve}
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(dir, name, &how)
		if err != unix.EAGAIN || tries == 32 {
			return fd, err
		}
	}
}

// pinned is a name beneath a descriptor.
type pinned struct {
	base int
	name string
}

// pinAll pins the protected names that exist and lie in a writable tree; all
// others are read-only already.
func pinAll(trees []tree, protect []string, wd string) error {
	pins := make(map[pinned]bool)
	for _, name := range protect {
		if name == "" || slices.Contains(strings.Split(name, "/"), "..") {
			return fmt.Errorf("protect %q: %w", name, unix.EINVAL)
		}
		if !strings.HasPrefix(name, "/") {
			name = strings.TrimSuffix(wd, "/") + "/" + name
		}
		for i := range trees {
			rel, in := beneath(name, trees[i].path)
			if !in || rel == "" {
				continue
			}
			if err := pinPath(trees[i].fd, rel, pins); err != nil {
				return fmt.Errorf("protect %q: %w", name, err)
			}
		}
	}
	return nil
}

// pinPath pins a name, read-only, and every directory and link on the way to
// it, so that none of them can be moved away and made anew: what is mounted on
// can be neither removed nor renamed (rename(2), EBUSY). The price is that a
// file moved out of such a directory is copied (EXDEV). A name that is not
// there costs nothing and gets nothing.
//
// pins spares the names on the way to several a second pin, which would do no
// harm: it copies what is pinned beneath, read-only as it is.
func pinPath(base int, rel string, pins map[pinned]bool) error {
	fd, err := openPin(base, rel, unix.O_NOFOLLOW)
	if fd < 0 {
		return err
	}
	unix.Close(fd)
	for i := 1; i <= len(rel); i++ {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		last := i == len(rel)
		key := pinned{base, rel[:i]}
		if readonly, done := pins[key]; done && (readonly || !last) {
			continue
		}
		pins[key] = last
		link, err := pinName(base, rel[:i], unix.O_NOFOLLOW, last)
		if err == nil && link {
			_, err = pinName(base, rel[:i], 0, last)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pinName pins one name, and with O_NOFOLLOW says whether it is a link.
func pinName(base int, name string, flags uint64, readonly bool) (link bool, err error) {
	fd, err := openPin(base, name, flags)
	if fd < 0 {
		return false, err
	}
	defer unix.Close(fd)
	_, kind, err := identify(fd)
	if err != nil {
		return false, err
	}
	return kind == unix.S_IFLNK, pin(fd, readonly)
}

// openPin is -1 without an error for a name that is absent, or a link that
// leads nowhere.
func openPin(base int, name string, flags uint64) (int, error) {
	fd, err := open2(base, name, flags, unix.RESOLVE_NO_MAGICLINKS)
	switch err {
	case nil:
		return fd, nil
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return -1, nil
	}
	return -1, fmt.Errorf("openat2: %w", err)
}

// pin binds what fd is open on over itself.
func pin(fd int, readonly bool) error {
	clone, err := cloneTree(fd)
	if err != nil {
		return err
	}
	defer unix.Close(clone)
	if readonly {
		if err := setattr(clone, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return err
		}
	}
	return moveMount(clone, fd)
}

// beneath is what is left of name under dir, "" for dir itself.
func beneath(name, dir string) (rel string, ok bool) {
	rel, ok = strings.CutPrefix(name, strings.TrimSuffix(dir, "/"))
	if !ok || rel != "" && rel[0] != '/' {
		return "", false
	}
	return strings.TrimLeft(rel, "/"), true
}

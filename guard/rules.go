package guard

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/guard/path"
)

const (
	readTree = ReadFile | ReadDir
	// makeAny are the names that a tool may make which copies a tree or works
	// in the root. Device nodes are no part of that.
	makeAny = MakeDir | MakeReg | MakeSock | MakeFifo | MakeSym
	// moveRights are what rename(2) and link(2) need of the directories on both
	// sides. The kernel compares them: where the target's directory gives more
	// than the source's, the answer is EXDEV, and mv falls back to a copy
	// (landlock(7), LANDLOCK_ACCESS_FS_REFER).
	moveRights = makeAny | RemoveDir | RemoveFile | Refer
	writeTree  = moveRights | WriteFile | Truncate
	tmpRights  = readTree | writeTree

	// maxSiblings bounds the rules that open a directory around what is hidden
	// in it: a rule costs about 3.5 µs of every run.
	maxSiblings = 1024
)

// keptCaps are the capabilities that a call which writes keeps, as numbers of
// capability(7): CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID.
func keptCaps() []int { return []int{0, 1, 3, 4, 5, 6, 7} }

var errAboveRoot = errors.New("the name lies in the directory above the root")

// builder makes the rules of a cage. It takes over the files that it is given.
type builder struct {
	j     *judge
	rules []Rule
	files []*path.File      // by handle
	index map[[2]uint64]int // the rule of a file, by device and inode
	moved []int             // rules whose directories rename or link between each other
	// mountSplit: names move between two file systems, so the move is a copy.
	mountSplit bool
	siblings   int
	protect    []string // canonical
}

// rule adds rights to what f leads to, once for each file.
func (b *builder) rule(f *path.File, rights Right) int {
	id := [2]uint64{f.Dev, f.Ino}
	if i, ok := b.index[id]; ok {
		b.rules[i].Rights |= rights
		f.Close()
		return i
	}
	if b.index == nil {
		b.index = make(map[[2]uint64]int)
	}
	b.index[id] = len(b.rules)
	b.rules = append(b.rules, Rule{Path: f.Base, Handle: len(b.files), Rights: rights})
	b.files = append(b.files, f)
	return len(b.rules) - 1
}

// parent adds rights to the directory that holds the name of f, which stays
// open.
func (b *builder) parent(f *path.File, rights Right) error {
	if f.Path == b.j.root.Path { // not admitted; and never a reason to open what is above
		return &path.Error{Name: f.Path, Err: errAboveRoot}
	}
	p, err := f.OpenParent()
	if err != nil {
		return err
	}
	i := b.rule(p, rights)
	if rights&Refer != 0 {
		b.moved = append(b.moved, i)
	}
	return nil
}

// use adds the rights that one use needs, and no more; it takes over the file.
// Facts about which rights an operation needs were measured for Linux 6.18.
//
// A new name needs its directory, and a right to a directory reaches all that
// is beneath: there the tool is held to the operand by its verified description
// and not by the kernel.
func (b *builder) use(u *use, implied bool) error {
	defer func() {
		if u.file != nil {
			u.file.Close()
		}
	}()
	f := u.file
	face, effect := u.face, u.effect
	if face == 0 {
		face = anyUse
		if effect == 0 {
			effect = argv.Overwrite | argv.Replace | argv.Remove
		}
	}
	if face&argv.Write != 0 && effect == 0 {
		effect = argv.Overwrite
	}
	named := Right(0) // rights to the directory that holds the name
	own := Right(0)   // rights to the file itself
	if face&argv.Read != 0 && f.Exists {
		switch {
		case !f.IsDir():
			own |= ReadFile
		case u.deep:
			own |= readTree
		default:
			own |= ReadDir
		}
	}
	if face&(argv.Write|argv.Rebind) != 0 || effect&argv.HardLink != 0 {
		tree := effect&argv.Tree != 0
		if effect&argv.Overwrite != 0 {
			switch {
			case !f.Exists:
				named |= MakeReg | WriteFile | Truncate | ReadFile&readBack(face)
			case !f.IsDir():
				own |= WriteFile | Truncate
			}
		}
		if effect&argv.Replace != 0 && (!f.IsDir() || face&argv.Rebind != 0) {
			// READ_DIR: cp --backup=numbered looks for the highest number, and
			// tries for ever where it may not look.
			named |= MakeReg | RemoveFile | WriteFile | Truncate | readTree
		}
		if effect&argv.Replace != 0 && f.IsDir() { // temporary files in it
			own |= MakeReg | RemoveFile | WriteFile | Truncate | readTree
		}
		if effect&argv.MakeDir != 0 && !f.Exists {
			named |= MakeDir
		}
		if effect&argv.MakeLink != 0 && !u.merges() {
			named |= MakeSym
			if f.Exists {
				named |= RemoveFile
			}
		}
		switch {
		case effect&argv.HardLink == 0:
		case u.merges():
			own |= moveRights
		default:
			named |= moveRights
		}
		if effect&argv.Remove != 0 {
			named |= RemoveFile | RemoveDir
			if f.IsDir() {
				own |= ReadDir // rm -d looks whether it is empty
			}
			if tree && f.IsDir() {
				own |= RemoveFile | RemoveDir
			}
		}
		if tree && face&argv.Write != 0 {
			all := makeAny | WriteFile | Truncate
			if effect&argv.Replace != 0 {
				all |= RemoveFile | ReadFile
			}
			switch {
			case f.IsDir():
				own |= all | ReadDir
				b.holdProtected(f)
			case !f.Exists:
				named |= all
			}
		}
		if effect&argv.Attr != 0 && f.Exists && own&writeTree == 0 {
			// Attributes have no right. In a private view a file keeps its
			// attributes unless some rule lets it be written: this is the least.
			own |= WriteFile
			if f.IsDir() {
				own = own&^WriteFile | MakeSock
			}
		}
	}
	if f.Path == b.j.root.Path {
		named = 0 // the directory above the root is nobody's
	}
	if named != 0 && (f.Exists || !strings.Contains(f.Rest, "/") || effect&argv.MakeDir != 0) {
		var err error
		if f.Exists || !strings.Contains(f.Rest, "/") {
			err = b.parent(f, named)
		} else {
			err = b.base(f, named) // mkdir -p: from the deepest that exists
		}
		if err != nil {
			return err
		}
	}
	if own != 0 && f.Exists {
		u.file = nil
		if f.IsDir() && own&readTree == readTree {
			return b.around(f, own, b.hidden(f, implied))
		}
		b.rule(f, own)
	}
	return nil
}

// base adds rights to the deepest directory above f that exists.
func (b *builder) base(f *path.File, rights Right) error {
	p, err := path.Resolve(path.Dir{FD: f.FD, Path: f.Base}, ".", path.Follow)
	if err != nil {
		return err
	}
	b.rule(p, rights)
	return nil
}

// readBack is all rights where the tool also reads what it writes.
func readBack(face argv.Face) Right {
	if face&argv.Read != 0 {
		return ^Right(0)
	}
	return 0
}

// hidden lists the paths beneath the directory f that may not be read whatever
// is open around them, as they exist. Without all, only what Policy.Deny names:
// the rest was looked at when the operand was judged.
func (b *builder) hidden(f *path.File, all bool) []string {
	var list []string
	for i := range b.j.deny {
		for _, p := range b.j.deny[i].paths {
			if path.Fold(p, f.Path) && len(p) > len(f.Path) {
				list = append(list, p)
			}
		}
	}
	if all {
		for _, p := range b.j.beneath(f) {
			if p.Role == path.CredentialStore || p.Role == path.RawDevice || p.Role == path.Own {
				list = append(list, p.Path)
			}
		}
	}
	return list
}

// around opens the directory f with all beneath it, but for what is hidden:
// then its names can be listed, and each sibling of what is hidden gets a rule
// of its own. A name that is made later gets none. Links get none: what they
// lead to has its own, or is closed. It takes over f.
func (b *builder) around(f *path.File, rights Right, hidden []string) error {
	if len(hidden) == 0 {
		b.rule(f, rights)
		return nil
	}
	names, err := f.Names(maxSiblings)
	if err != nil {
		f.Close()
		return err
	}
	dir := path.Dir{FD: f.FD, Path: f.Path}
	for _, name := range names {
		child, err := path.Resolve(dir, name, path.Itself)
		if err != nil || !child.Exists {
			child.Close() // gone, or out of our own reach
			continue
		}
		within := slices.ContainsFunc(hidden, func(h string) bool { return path.Fold(child.Path, h) })
		if within || child.Type&^fs.ModeDir != 0 || child.Nlink > 1 && !child.IsDir() && sameAs(child, hidden) {
			child.Close()
			continue
		}
		deeper := slices.DeleteFunc(slices.Clone(hidden), func(h string) bool { return !path.Fold(h, child.Path) })
		if b.siblings++; b.siblings > maxSiblings {
			child.Close()
			f.Close()
			return &path.Error{Name: f.Path, Err: path.ErrTooMany}
		}
		if err := b.around(child, rights, deeper); err != nil {
			f.Close()
			return err
		}
	}
	b.rule(f, rights&ReadDir)
	return nil
}

// sameAs is whether f is a further name (a hard link) of something hidden: a rule
// for it would be a rule for that.
func sameAs(f *path.File, hidden []string) bool {
	for _, name := range hidden {
		h, err := path.Resolve(path.Dir{FD: -1, Path: "/"}, name, path.Itself)
		if err != nil {
			continue
		}
		same := h.Exists && h.Dev == f.Dev && h.Ino == f.Ino
		h.Close()
		if same {
			return true
		}
	}
	return false
}

// holdProtected notes what is protected in the directory f, for the cage to
// hold where what is written beneath it is not known by name.
func (b *builder) holdProtected(f *path.File) {
	add := func(p string) {
		if !slices.Contains(b.protect, p) {
			b.protect = append(b.protect, p)
		}
	}
	for _, p := range b.j.beneath(f) {
		if code, _, _ := closed(p.Role, argv.Write, argv.Overwrite); code != "" {
			add(p.Path)
		}
	}
	for i := range b.j.deny {
		for _, p := range b.j.deny[i].paths {
			if rest, ok := path.Beneath(p, f.Path); ok && rest != "" && f.Has(rest) {
				add(p)
			}
		}
	}
}

// root opens the whole root, read or read-write, and the grants.
func (b *builder) root(r *Root, write bool) error {
	f, err := r.again()
	if err != nil {
		return err
	}
	rights := Execute | readTree
	if write {
		rights |= writeTree | IoctlDev
		b.holdProtected(f)
	}
	if err := b.around(f, rights, b.hidden(f, true)); err != nil {
		return err
	}
	for _, g := range b.j.grants {
		if code, _, _ := closed(b.j.regions.Role(g.path), argv.Read, 0); code != "" {
			continue
		}
		f, err := path.Resolve(path.Dir{FD: -1, Path: "/"}, g.path, path.Itself)
		if err != nil || !f.Exists {
			f.Close()
			continue
		}
		rights := Right(0)
		if g.faces&argv.Read != 0 {
			rights |= readTree
		}
		if g.faces&argv.Exec != 0 {
			rights |= Execute
		}
		if write && g.faces&argv.Write != 0 {
			if code, _, _ := closed(b.j.role(f), argv.Write, argv.Overwrite); code == "" {
				rights |= WriteFile | Truncate
				if g.faces&argv.Rebind != 0 {
					rights |= writeTree
				}
				b.holdProtected(f)
			}
		}
		if err := b.around(f, rights, b.hidden(f, true)); err != nil {
			return err
		}
	}
	return nil
}

// profiles adds the system paths of the tool's profiles, but for what is
// denied.
func (b *builder) profiles(rules []Rule) error {
	for _, r := range rules {
		touched, closed := false, false
		for i := range b.j.deny {
			for _, p := range b.j.deny[i].paths {
				closed = closed || path.Fold(r.Path, p)
				touched = touched || path.Fold(p, r.Path)
			}
		}
		switch {
		case closed:
		case touched:
			f, err := path.OpenDir(r.Path)
			if err != nil || !f.Exists {
				f.Close()
				continue
			}
			if err := b.around(f, r.Rights, b.hidden(f, false)); err != nil {
				return err
			}
		default:
			b.rules = append(b.rules, r)
		}
	}
	return nil
}

// level gives all directories that names move between the same rights.
func (b *builder) level() {
	var union Right
	dev := uint64(0)
	for n, i := range b.moved {
		union |= b.rules[i].Rights
		f := b.files[b.rules[i].Handle]
		if n > 0 && f.Dev != dev {
			b.mountSplit = true
		}
		dev = f.Dev
	}
	if b.mountSplit {
		union |= readTree | WriteFile | Truncate
	}
	for _, i := range b.moved {
		b.rules[i].Rights |= union
	}
}

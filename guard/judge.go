package guard

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/guard/path"
)

// replacing are the effects that act on a name itself: a link at its end is
// what changes, and not what it leads to.
const replacing = argv.Replace | argv.Remove | argv.MakeLink | argv.HardLink

// anyUse is what a face that is not known stands for.
const anyUse = argv.Read | argv.Write | argv.Rebind

// judge is what operands are judged against. It is a value: a remedy is tried
// on a copy with one thing changed.
type judge struct {
	tool     string // for messages
	mode     Mode   // what the call asks for
	forced   bool   // the module only reads: mode does not matter
	net      Net
	regions  path.Regions
	root, wd path.Dir
	grants   []grant
	deny     []denial
	tmp      string
	// trial: this judges whether a remedy would help, and looks for none itself.
	trial bool
}

// grant is a Grant whose path is canonical.
type grant struct {
	path  string
	faces argv.Face
}

// denial is a path of Policy.Deny, in every form in which it may be met: by
// its spelling, by what it leads to, and as a file.
type denial struct {
	paths    []string
	dev, ino uint64 // ino is 0 if it does not exist
}

// use is one file that an operand uses, and how.
type use struct {
	file   *path.File
	text   string // as the tool names it
	face   argv.Face
	effect argv.Effect
	// deep: with the same face, everything beneath.
	deep bool
}

func (u *use) mutates() bool { return mutates(u.face, u.effect) }

// merges is whether the use adds to a directory that is there, as a copy of a
// tree does: names in it are replaced, the directory is not.
func (u *use) merges() bool {
	return u.file.IsDir() && u.effect&argv.Overwrite != 0 && u.effect&argv.Tree != 0 && u.effect&argv.Remove == 0
}

// implied is whether a directory is read because the tool always does so, and
// not because the argv names it. What is closed beneath it is then hidden by
// the cage instead of being a reason to refuse the call.
func (u *use) implied(op *argv.Operand) bool { return op.Arg < 0 && !u.mutates() }

// need is the set of faces that must be open for the use.
func (u *use) need() argv.Face {
	switch {
	case u.face == 0:
		return anyUse
	case u.effect&argv.HardLink != 0:
		return u.face | argv.Write
	}
	return u.face
}

func (j *judge) readOnly() bool { return j.forced || j.mode == ReadOnly }

// operand judges one operand: what it is, the files that it uses, and the
// refusal if it may not. The uses are the caller's to close, refused or not.
func (j *judge) operand(op *argv.Operand) (v Verdict, uses []use, ref *Refusal) {
	v = Verdict{Arg: op.Arg, Text: op.Text, Kind: op.Value.Kind, Face: op.Value.Face}
	switch {
	case op.Value.Kind == argv.Program || op.Value.Face&argv.Exec != 0:
		return v, nil, j.program(op)
	case op.Value.Kind == argv.Config:
		if harmlessConfig(op.Text) {
			return v, nil, nil
		}
		return v, nil, j.config(op)
	case op.Value.Kind != argv.Path && op.Value.Kind != argv.Rev:
		return v, nil, nil
	}
	text := op.Text
	if op.Base != "" && !strings.HasPrefix(text, "/") {
		text = op.Base + "/" + text
	}
	if _, ok := path.Stream(text); (op.Stream || ok) && op.Value.Face&argv.Rebind == 0 {
		v.Exists, v.Role = true, path.StandardStream
		return v, nil, nil
	}
	if op.Text == "" && op.Value.Rebases { // git -C "": stay
		return v, nil, nil
	}
	if op.Value.Kind == argv.Rev && !j.namesFile(text) {
		return v, nil, nil
	}
	if op.Text == "" {
		return v, nil, j.unresolvable(op, &path.Error{Name: text, Err: path.ErrEmpty})
	}
	if op.Value.Kind == argv.Path {
		if ref := j.url(op); ref != nil {
			return v, nil, ref
		}
	}
	uses, err := j.uses(op, text)
	if err != nil {
		return v, uses, j.unresolvable(op, err)
	}
	first := uses[0].file
	v.Resolved, v.Exists, v.Role = first.Path, first.Exists, j.role(first)
	if first.Exists {
		v.Dev, v.Ino, v.Nlink = first.Dev, first.Ino, first.Nlink
	}
	for i := range uses {
		if ref := j.check(op, &uses[i]); ref != nil {
			return v, uses, ref
		}
	}
	return v, uses, nil
}

// namesFile is whether a word that may be a revision is to be taken for a path:
// a file of that name is there, or it leads upwards or starts at "/", as no
// revision does.
func (j *judge) namesFile(text string) bool {
	if strings.HasPrefix(text, "/") || slices.Contains(strings.Split(text, "/"), "..") {
		return true
	}
	f, err := path.Resolve(j.wd, text, path.Itself)
	if err != nil {
		return errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ELOOP) || errors.Is(err, path.ErrUnstable)
	}
	defer f.Close()
	return f.Exists
}

// uses finds the files of an operand. Where the operand is a directory that
// receives names, each of those is used, and not the directory.
func (j *judge) uses(op *argv.Operand, text string) ([]use, error) {
	v := &op.Value
	if v.Names == "sources" && len(op.Sources) > 0 {
		dir, err := path.Resolve(j.wd, text, path.Follow)
		if err != nil {
			return nil, err
		}
		isDir := dir.IsDir()
		dir.Close()
		if isDir {
			var all []use
			for _, name := range op.Sources {
				child := text
				if name != "" && name != "." && name != ".." {
					child = strings.TrimRight(text, "/") + "/" + name
				}
				more, err := j.resolve(child, op.Text+strings.TrimPrefix(child, text), v)
				all = append(all, more...)
				if err != nil {
					return all, err
				}
			}
			return all, nil
		}
	}
	return j.resolve(text, op.Text, v)
}

// resolve finds the file that text means, or two where it is a link of which
// some effects meet the link and some what it leads to.
func (j *judge) resolve(text, shown string, v *argv.Value) ([]use, error) {
	whole := use{text: shown, face: v.Face, effect: v.Effect, deep: v.Recursive || v.Effect&argv.Tree != 0}
	if v.Effect&replacing == 0 && v.Face&argv.Rebind == 0 {
		f, err := path.Resolve(j.wd, text, path.Follow)
		if err != nil {
			return nil, err
		}
		if v.Enclosing != "" {
			f = j.enclosing(f, v.Enclosing)
		}
		whole.file = f
		return []use{whole}, nil
	}
	f, err := path.Resolve(j.wd, text, path.Itself)
	if err != nil {
		return nil, err
	}
	whole.file = f
	if whole.merges() {
		whole.face &^= argv.Rebind
	}
	if f.Type != fs.ModeSymlink || !f.Exists {
		return []use{whole}, nil
	}
	// A link. Its own use discloses nothing but its text.
	link := whole
	link.effect &= replacing
	link.deep = false
	if link.face != 0 {
		link.face &^= argv.Read
	}
	behind := whole
	behind.effect &^= replacing
	behind.face &^= argv.Rebind
	if v.Face&argv.Rebind != 0 && behind.effect&(argv.Overwrite|argv.Attr) == 0 {
		behind.effect = 0 // mv and its kin put the new thing in the link's place
	}
	if behind.effect == 0 {
		behind.face &^= argv.Write
	}
	switch {
	case v.Effect&argv.HardLink == 0 || v.Face&argv.Read == 0:
	case v.Effect&argv.Remove != 0:
		behind.face = 0 // a link is moved unread
	default:
		behind.effect |= argv.HardLink // cp -l follows links, ln does not
	}
	var all []use
	if link.face != 0 || v.Face == 0 || link.effect != 0 {
		if link.face == 0 && v.Face != 0 { // ln link new
			link.face = argv.Read
		}
		all = append(all, link)
	} else {
		f.Close()
	}
	if behind.face != 0 || v.Face == 0 {
		behind.file, err = path.Resolve(j.wd, text, path.Follow)
		if err != nil {
			return all, err
		}
		all = append(all, behind)
	}
	return all, nil
}

// enclosing is the nearest directory at or above f, but not above the root, that
// holds name; f itself where there is none. It takes over f.
func (j *judge) enclosing(f *path.File, name string) *path.File {
	at := f
	for at.Exists && at.IsDir() && !at.Has(name) {
		if _, in := path.Beneath(at.Path, j.root.Path); !in || at.Path == j.root.Path {
			break
		}
		up, err := at.OpenParent()
		if err != nil {
			break
		}
		if at != f {
			at.Close()
		}
		at = up
	}
	if at == f || !at.Has(name) {
		if at != f {
			at.Close()
		}
		return f
	}
	f.Close()
	return at
}

// role is the worse of what a file is by its canonical path and by its
// spelling, and of what kind of file it is.
func (j *judge) role(f *path.File) path.Role {
	if f.Exists {
		switch f.Type {
		case fs.ModeDevice | fs.ModeCharDevice:
			if harmlessDevice(f) {
				return path.StandardStream
			}
			return path.RawDevice
		case fs.ModeDevice, fs.ModeSocket, fs.ModeIrregular:
			return path.RawDevice
		}
	}
	role := j.regions.Role(f.Path)
	if f.Kernel {
		role = path.RawDevice
	}
	if f.Literal == f.Path {
		return role
	}
	// A spelling can make a place more protected, never less, and that it
	// lies elsewhere by its spelling alone says nothing.
	switch spelt := j.regions.Role(f.Literal); spelt {
	case path.Unknown, path.Scratch, path.PackageContent, path.Worktree, path.StandardStream, path.Landmark:
		return role
	default:
		return path.Worse(role, spelt)
	}
}

// harmlessDevice is whether f is one of the memory devices null, zero, full,
// random and urandom, or the caller's own terminal (null(4), random(4), tty(4)).
func harmlessDevice(f *path.File) bool {
	if f.Kernel {
		return false
	}
	major, minor := f.Rdev>>8&0xfff, f.Rdev&0xff
	if f.Rdev>>20 != 0 {
		return false
	}
	switch major {
	case 1:
		return minor == 3 || minor == 5 || minor == 7 || minor == 8 || minor == 9
	case 5:
		return minor == 0
	}
	return false
}

// check judges one use. What is closed whatever is granted comes first, then
// where the file lies, then the mode.
func (j *judge) check(op *argv.Operand, u *use) *Refusal {
	role := j.role(u.file)
	if ref := j.closedAt(op, u, role); ref != nil {
		return ref
	}
	if role == path.StandardStream {
		return nil
	}
	if !j.contains(u) {
		return j.outside(op, u, role)
	}
	if u.mutates() && j.readOnly() && !j.inTmp(u.file) {
		return j.readOnlyRefusal(op, u, role)
	}
	if u.inPlace() && u.file.Nlink > 1 {
		return j.refuse(op, u, CodeHardLink, "HardLink", role,
			", which has more names than this one: the others would change too")
	}
	return nil
}

// empties is whether the use removes what a directory holds (find -delete, rm
// -r). Where that is the root, the directory itself stays: no rule reaches the
// one above it.
func (u *use) empties() bool {
	return u.deep && u.file.IsDir() && u.effect&argv.Remove != 0 && u.effect&argv.HardLink == 0
}

// inPlace is whether the use changes the bytes or attributes of a plain file
// that is there.
func (u *use) inPlace() bool {
	return u.file.Exists && u.file.Type == 0 && (u.face == 0 || u.face&argv.Write != 0) &&
		(u.effect&(argv.Overwrite|argv.Attr) != 0 || u.effect&^argv.Tree == 0)
}

// closedAt refuses what is denied, and what its role closes, at the file and,
// for uses that reach everything beneath it, there.
func (j *judge) closedAt(op *argv.Operand, u *use, role path.Role) *Refusal {
	f := u.file
	for i := range j.deny {
		if j.deny[i].covers(f) {
			return j.refuse(op, u, CodeDenied, "Denied", role, ", which is denied"+noGrant)
		}
	}
	if code, reason, what := closed(role, u.face, u.effect); code != "" {
		return j.refuse(op, u, code, reason, role, ", which "+what+noGrant)
	}
	unmade := u.face == 0 || u.face&argv.Rebind != 0 // what is beneath goes with it
	if !unmade && (!u.deep || !f.IsDir()) || u.implied(op) {
		return nil
	}
	for i := range j.deny {
		for _, p := range j.deny[i].paths {
			if path.Fold(p, f.Path) || unmade && path.Fold(p, f.Literal) {
				return j.holds(op, u, CodeDenied, "Denied", role, p, "is denied")
			}
		}
	}
	if !f.IsDir() {
		return nil
	}
	for _, p := range j.beneath(f) {
		face := u.face
		if !unmade {
			// What is written beneath is not known by name. That the cage must
			// hold it is said elsewhere.
			face &= argv.Read
		}
		if face == 0 && u.face != 0 {
			continue
		}
		if code, reason, what := closed(p.Role, face, u.effect&^argv.HardLink); code != "" {
			return j.holds(op, u, code, reason, p.Role, p.Path, what)
		}
	}
	return nil
}

func (d *denial) covers(f *path.File) bool {
	if d.ino != 0 && f.Exists && f.Ino == d.ino && f.Dev == d.dev {
		return true
	}
	return slices.ContainsFunc(d.paths, func(p string) bool { return path.Fold(f.Path, p) || path.Fold(f.Literal, p) })
}

// beneath lists the protected places that exist beneath the directory f: those
// that the regions name, and right in it those that are protected by their
// names anywhere. Deeper ones of the latter are not looked for.
func (j *judge) beneath(f *path.File) []path.Place {
	var list []path.Place
	for _, p := range j.regions.Under(f.Path) {
		if rest, _ := path.Beneath(p.Path, f.Path); f.Has(rest) {
			list = append(list, p)
		}
	}
	prefix := strings.TrimRight(f.Path, "/") + "/"
	for _, s := range j.regions.Segments() {
		if f.Has(s.Path) {
			list = append(list, path.Place{Path: prefix + s.Path, Role: s.Role})
		}
	}
	return list
}

// contains is whether the use stays in what is open for it: the root, a grant
// with those faces, or the call's own temporary directory.
func (j *judge) contains(u *use) bool {
	p := u.file.Path
	if _, ok := path.Beneath(p, j.root.Path); ok && (p != j.root.Path || u.face&argv.Rebind == 0 || u.empties()) {
		return true // to unmake the root is a change of the directory above it
	}
	if j.inTmp(u.file) {
		return true
	}
	var open argv.Face
	for _, g := range j.grants {
		if _, ok := path.Beneath(p, g.path); ok {
			open |= g.faces
		}
	}
	return u.need()&^open == 0
}

func (j *judge) inTmp(f *path.File) bool {
	_, ok := path.Beneath(f.Path, j.tmp)
	return ok && j.tmp != ""
}

// refuse makes the refusal of a use; tail ends the sentence "sort writes x".
func (j *judge) refuse(op *argv.Operand, u *use, code Code, reason string, role path.Role, tail string) *Refusal {
	does, _ := verb(u.face, u.effect)
	leads := u.file.Path
	if _, in := path.Beneath(leads, j.root.Path); in && leads == u.file.Literal {
		leads = "" // plainly a name beneath the root
	}
	return &Refusal{
		Code: code, Reason: reason, Arg: op.Arg, Text: op.Text, Path: u.file.Path, Face: u.face, Role: role,
		Message: j.tool + " " + does + " " + spell(u.text, op.Flag, leads) + tail,
	}
}

func (j *judge) holds(op *argv.Operand, u *use, code Code, reason string, role path.Role, at, what string) *Refusal {
	return j.refuse(op, u, code, reason, role, ", and "+argv.Quote(at)+" beneath it "+what+noGrant)
}

func (j *judge) outside(op *argv.Operand, u *use, role path.Role) *Refusal {
	code, reason := CodeOutsideRoot, "OutsideWorkspace"
	if role == path.Scratch {
		code, reason = CodeForeignTemp, "ForeignTemp"
	}
	ref := j.refuse(op, u, code, reason, role, ", outside the root "+argv.Quote(j.root.Path))
	if j.trial {
		return ref
	}
	p := u.file.Path
	ro, rw := j.with(p, argv.Read), j.with(p, anyUse)
	for _, try := range []struct {
		change string
		with   judge
	}{
		{"add --ro " + argv.Quote(p), ro},
		{"add --rw " + argv.Quote(p), rw},
		{"drop --readonly and add --rw " + argv.Quote(p), rw.writing()},
	} {
		if try.with.refusal(op) == nil {
			ref.Remedy = &Remedy{Kind: "flag", Who: "caller", Change: try.change, Message: try.change}
			break
		}
	}
	return ref
}

func (j *judge) readOnlyRefusal(op *argv.Operand, u *use, role path.Role) *Refusal {
	tail := ", and this call is read-only"
	if j.forced {
		tail = ", and " + j.tool + " is only let read"
	}
	ref := j.refuse(op, u, CodeReadOnly, "ReadOnly", role, tail)
	if j.trial || j.forced {
		return ref
	}
	w := j.writing()
	left := w.refusal(op)
	if left == nil {
		_, do := verb(u.face, u.effect)
		where := j.root.Path
		if _, ok := path.Beneath(u.file.Path, where); !ok {
			where = u.file.Path
		}
		ref.Remedy = &Remedy{
			Kind: "flag", Who: "caller", Change: "drop --readonly",
			Message: "drop --readonly to let " + j.tool + " " + do + " inside " + argv.Quote(where),
		}
		return ref
	}
	// The file behind a link that would be replaced may lie outside.
	for _, faces := range []argv.Face{argv.Read, anyUse} {
		more := w.with(left.Path, faces)
		if more.refusal(op) == nil {
			change := "drop --readonly and add " + flagFor(faces) + " " + argv.Quote(left.Path)
			ref.Remedy = &Remedy{Kind: "flag", Who: "caller", Change: change, Message: change}
			break
		}
	}
	return ref
}

func flagFor(faces argv.Face) string {
	if faces == argv.Read {
		return "--ro"
	}
	return "--rw"
}

// with is j with a further grant, of what p leads to, as a flag would give it.
func (j *judge) with(p string, faces argv.Face) judge {
	c := *j
	if g, err := newGrant(Grant{Path: p, Faces: faces}); err == nil {
		c.grants = append(slices.Clip(c.grants), g)
	}
	return c
}

// writing is j in a call that may write.
func (j judge) writing() judge {
	j.mode = ReadWrite
	return j
}

// refusal is why the operand is refused under j, without a remedy, or nil. It
// is for trying one.
func (j judge) refusal(op *argv.Operand) *Refusal {
	j.trial = true
	_, uses, ref := j.operand(op)
	closeUses(uses)
	return ref
}

func closeUses(uses []use) {
	for i := range uses {
		uses[i].file.Close()
	}
}

func (j *judge) program(op *argv.Operand) *Refusal {
	what := spell(op.Text, op.Flag, "")
	if len(op.Inner) > 0 {
		what = spell(argv.QuoteAll(op.Inner), "", "")
		if op.Flag != "" {
			what = argv.QuoteAll(op.Inner) + " (" + op.Flag + ")"
		}
	}
	return &Refusal{
		Code: CodeProgram, Reason: "Program", Arg: op.Arg, Text: op.Text, Face: argv.Exec,
		Message: j.tool + " would run " + what + ", a program of the caller's choice",
	}
}

func (j *judge) config(op *argv.Operand) *Refusal {
	return &Refusal{
		Code: CodeProgram, Reason: "Program", Arg: op.Arg, Text: op.Text, Face: argv.Exec,
		Message: j.tool + " would be configured by " + spell(op.Text, op.Flag, "") + ", which may make it run a program",
	}
}

func (j *judge) unresolvable(op *argv.Operand, err error) *Refusal {
	return &Refusal{
		Code: CodeUnresolvable, Reason: "Unconfined", Arg: op.Arg, Text: op.Text, Face: op.Value.Face,
		Message: j.tool + ": " + spell(op.Text, op.Flag, "") + " cannot be resolved: " + argv.Escape(err.Error()),
	}
}

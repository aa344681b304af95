package guard

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/guard/path"
)

// Verdict is what was found out about one operand.
type Verdict struct {
	// Arg is its place in argv, -1 for an implicit operand; Text its spelling.
	Arg  int
	Text string
	Kind argv.Kind
	Face argv.Face
	// Resolved is the canonical path, "" for what is no path or a stream, and
	// where it could not be found. With more than one file (a directory that
	// receives names, a link that is both read and replaced), the first.
	Resolved string
	Exists   bool
	Role     path.Role
	// Of a file that exists.
	Nlink, Dev, Ino uint64
}

// Layer is the answer of one layer of the decision: "argv", "path" or "cage";
// "allowed" or "refused", and then the code of the first refusal.
type Layer struct{ Layer, Result, Rule string }

// Decision is the answer to a request. It owns the descriptors that the
// cage's rules name, and so the files that were judged; Close closes them.
//
// It does not protect against: what the cage does not hold, which Missing
// names.
type Decision struct {
	Cage Cage
	// Mode is what the call may do: that of the request, or ReadOnly where the
	// module only reads.
	Mode Mode
	// Operands are in argv order, implicit ones last.
	Operands []Verdict
	// Enforced and Missing are what this kernel holds of the cage and what not.
	Enforced, Missing []string
	Layers            []Layer
	// Notes are what somebody should know who reads the report: escaped lines.
	Notes []string

	files []*path.File
}

// Handles are the descriptors that Rule.Handle counts in. They stay d's.
func (d *Decision) Handles() []int {
	fds := make([]int, len(d.files))
	for i, f := range d.files {
		fds[i] = f.FD
	}
	return fds
}

// Close closes the descriptors. It may be called again.
func (d *Decision) Close() error {
	for _, f := range d.files {
		f.Close()
	}
	d.files = nil
	return nil
}

// PolicyError says that a policy cannot be meant as it stands. It is no
// refusal: nothing was judged.
type PolicyError struct {
	// What names the entry, "--deny x".
	What string
	Err  error
}

// Error names the entry and the cause, escaped.
func (e *PolicyError) Error() string { return e.What + ": " + argv.Escape(e.Err.Error()) }

// Unwrap is Err.
func (e *PolicyError) Unwrap() error { return e.Err }

// Why a policy cannot be meant.
var (
	errDeniesRoot = errors.New("this denies the directory that the call works in")
	errNoPath     = errors.New("this is no path")
)

// ScopeOf is the scope of the cage of a call: that of a tool without a verified
// description, or with a token that is not explained, is the whole root.
func ScopeOf(tool Tool, call *argv.Invocation) Scope {
	if tool.Overlay == "" || !tool.Verified || call == nil || call.Command == nil || len(call.Unexplained) > 0 {
		return ScopeRoot
	}
	return ScopeCall
}

// Decide judges a call. It looks at files, from the root's descriptor, but
// changes nothing and runs nothing; it may be called by many goroutines.
//
// The error is a *RefusedError with all reasons, or a *PolicyError, or says
// why files could not be looked at. Beside a *RefusedError stands a Decision
// that describes what was found and holds no descriptors.
//
// The zero Request, and one without root or call, is refused.
func Decide(req *Request) (*Decision, error) {
	if req == nil || req.Root == nil || req.Call == nil || len(req.Call.Argv) == 0 {
		return nil, &RefusedError{[]*Refusal{{
			Code: CodeUnconfined, Reason: "Unconfined", Arg: -1, Message: "nothing is known of this call: it has no root, or no command",
		}}}
	}
	j, err := newJudge(req)
	if err != nil {
		return nil, err
	}
	c := &call{judge: j, req: req, d: &Decision{}, scope: ScopeOf(req.Tool, req.Call)}
	err = c.decide()
	c.d.files = c.b.files
	if err != nil {
		c.d.Close()
		if _, ok := errors.AsType[*RefusedError](err); !ok {
			return nil, err
		}
	}
	return c.d, err
}

// call is the state of one Decide.
type call struct {
	*judge
	req      *Request
	d        *Decision
	scope    Scope
	b        builder
	refusals []*Refusal
	lists    []*argv.Operand
	trees    []*Refusal // writes of unknown names where something is protected
	hides    bool       // what is closed beneath an implied operand is hidden
}

func newJudge(req *Request) (*judge, error) {
	root, err := req.Root.again()
	if err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	root.Close()
	j := &judge{
		tool: argv.Quote(toolName(req)), mode: req.Mode, net: req.Net, tmp: req.Tmp,
		root: path.Dir{FD: req.Root.FD(), Path: root.Path},
	}
	j.forced = req.Call.Command != nil && req.Call.Command.Access == argv.Always
	j.wd = j.root
	if req.Workdir != nil && req.Workdir != req.Root {
		wd, err := req.Workdir.again()
		if err != nil {
			return nil, fmt.Errorf("working directory: %w", err)
		}
		wd.Close()
		j.wd = path.Dir{FD: req.Workdir.FD(), Path: wd.Path}
		if _, ok := path.Beneath(wd.Path, root.Path); !ok {
			return nil, &RefusedError{[]*Refusal{req.Root.outside(wd.Path, wd)}}
		}
	}
	j.regions = path.Regions{Homes: both(req.Policy.Homes), Own: both(req.Policy.Own), Root: root.Path}
	for _, g := range req.Policy.Grants {
		opened, err := newGrant(g)
		if err != nil {
			return nil, &PolicyError{g.Source + " " + argv.Quote(g.Path), err}
		}
		j.grants = append(j.grants, opened)
	}
	for _, text := range req.Policy.Deny {
		d, err := newDenial(text)
		if err == nil && slices.ContainsFunc(d.paths, func(p string) bool {
			return path.Fold(j.root.Path, p) || path.Fold(j.wd.Path, p)
		}) {
			err = errDeniesRoot
		}
		if err != nil {
			return nil, &PolicyError{"--deny " + argv.Quote(text), err}
		}
		j.deny = append(j.deny, d)
	}
	return j, nil
}

// newGrant finds what the grant opens: where its path leads, not a link.
func newGrant(g Grant) (grant, error) {
	if g.Path == "" {
		return grant{}, errNoPath
	}
	f, err := path.OpenDir(g.Path)
	if err != nil {
		return grant{}, err
	}
	defer f.Close()
	return grant{f.Path, g.Faces}, nil
}

func newDenial(text string) (denial, error) {
	if text == "" {
		return denial{}, errNoPath
	}
	f, err := path.OpenDir(text)
	if err != nil {
		return denial{}, err
	}
	defer f.Close()
	d := denial{paths: []string{f.Path}}
	if f.Exists {
		d.dev, d.ino = f.Dev, f.Ino
	}
	if f.Literal != f.Path {
		d.paths = append(d.paths, f.Literal)
	}
	// The name itself, where it is a link with links before it.
	dir := f.Literal[:max(1, strings.LastIndexByte(f.Literal, '/'))]
	if p, err := path.OpenDir(dir); err == nil {
		name := path.Clean(p.Path, f.Literal[strings.LastIndexByte(f.Literal, '/')+1:])
		if !slices.Contains(d.paths, name) {
			d.paths = append(d.paths, name)
		}
		p.Close()
	}
	return d, nil
}

func toolName(req *Request) string { return cmp.Or(req.Tool.Name, req.Call.Tool, req.Call.Argv[0]) }

func (c *call) decide() error {
	c.d.Mode = c.mode
	if c.readOnly() {
		c.d.Mode = ReadOnly
	}
	c.b.j = c.judge
	c.b.rules = append(c.b.rules, c.req.Tool.Execs...)
	known := c.req.Call.Command != nil
	if known {
		c.operands()
	}
	if err := c.cage(); err != nil {
		return err
	}
	if !known {
		c.tokens()
	}
	c.cageRefusals(known)
	return c.settle()
}

// operands judges what the argv of a known tool names, and gives each its
// rules.
func (c *call) operands() {
	ops := c.req.Call.Operands
	for i := range ops {
		op := &ops[i]
		v, uses, ref := c.operand(op)
		c.d.Operands = append(c.d.Operands, v)
		if ref != nil {
			closeUses(uses)
			c.refusals = append(c.refusals, ref)
			continue
		}
		if op.Value.Lists != 0 {
			c.lists = append(c.lists, op)
		}
		for k := range uses {
			if err := c.take(op, &uses[k]); err != nil {
				closeUses(uses[k+1:])
				c.refusals = append(c.refusals, c.unresolvable(op, err))
				break
			}
		}
	}
}

// take gives a use that was admitted its rules.
func (c *call) take(op *argv.Operand, u *use) error {
	f := u.file
	if f.Exists && f.Type == 0 && f.Nlink > 1 && u.face&argv.Read != 0 {
		c.note(argv.Quote(op.Text) + " has " + strconv.FormatUint(f.Nlink, 10) + " names (hard links): the others are not known")
	}
	implied := u.implied(op)
	if implied && u.deep && f.IsDir() && len(c.b.hidden(f, true)) > 0 {
		c.hides = true
	}
	if u.effect&argv.Tree != 0 && u.face&argv.Write != 0 && f.IsDir() {
		before := len(c.b.protect)
		c.b.holdProtected(f)
		if len(c.b.protect) > before {
			c.trees = append(c.trees, c.refuse(op, u, CodeUnconfined, "Unconfined", c.role(f),
				", and nothing holds it off "+argv.Quote(c.b.protect[before])+" there"))
		}
	}
	if c.role(f) == path.StandardStream { // opened by profile
		f.Close()
		return nil
	}
	return c.b.use(u, implied)
}

func (c *call) note(text string) { c.d.Notes = append(c.d.Notes, text) }

// cage builds the cage and says what the kernel holds of it.
func (c *call) cage() error {
	g := &c.d.Cage
	write := !c.readOnly()
	g.Scope, g.Net, g.Tmp = c.scope, c.net, c.tmp
	switch {
	case c.scope == ScopeRoot:
		if err := c.b.root(c.req.Root, write); err != nil {
			return c.cannotOpen(err)
		}
	case len(c.lists) > 0:
		changes := slices.ContainsFunc(c.lists, func(op *argv.Operand) bool { return op.Value.Lists.Mutates() })
		if err := c.b.root(c.req.Root, write && changes); err != nil {
			return c.cannotOpen(err)
		}
	}
	c.b.level()
	if err := c.b.profiles(c.req.Profiles); err != nil {
		return c.cannotOpen(err)
	}
	if c.tmp != "" {
		rights := tmpRights
		if c.scope == ScopeRoot {
			rights |= Execute
		}
		c.b.rules = append(c.b.rules, Rule{Path: c.tmp, Handle: -1, Rights: rights})
	}
	g.Rules = c.b.rules
	attr := c.req.Call.Needs&argv.NeedAttr != 0
	// In one file system a move sets no attribute, and a private view would make
	// two of it: each place that may be written is a mount of its own there.
	moves := len(c.b.moved) > 1 && !c.b.mountSplit
	g.NoAttr = !write || c.scope == ScopeCall && (!attr || moves)
	g.Private = write && c.req.Kernel.Mounts && (!g.NoAttr || len(c.b.protect) > 0)
	if write {
		g.Caps = keptCaps()
		for _, p := range c.b.protect {
			if rest, ok := path.Beneath(p, c.root.Path); ok && c.wd == c.root {
				p = rest
			}
			g.Protect = append(g.Protect, p)
		}
	}
	k := c.req.Kernel
	if c.req.Cage == CageOff {
		k = Kernel{}
	}
	c.d.Enforced, c.d.Missing = g.Enforced(k)
	return nil
}

// cannotOpen: the root could not be opened around what is hidden in it.
func (c *call) cannotOpen(err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("rules of the cage: %w", err)
	}
	c.refusals = append(c.refusals, &Refusal{
		Code: CodeUnconfined, Reason: "Unconfined", Arg: -1,
		Message: "no cage can open " + argv.Quote(c.root.Path) + " around what is closed in it: " + argv.Escape(err.Error()),
	})
	return c.settle()
}

// tokens looks at the words of an unknown tool. A whole cage holds whatever
// they mean, so only what is closed to everybody is refused; without one, a
// word that names a file, or has a slash in it, is judged like an operand that
// may be used in any way.
func (c *call) tokens() {
	whole := Whole(c.d.Missing)
	ops := c.req.Call.Operands
	for i := range ops {
		op := ops[i]
		v := Verdict{Arg: op.Arg, Text: op.Text, Kind: op.Value.Kind, Face: op.Value.Face}
		ref := c.token(&op, &v, whole)
		if _, value, ok := strings.Cut(op.Text, "="); ok && ref == nil && op.Text[0] == '-' && value != "" {
			part := op
			part.Text = value
			var other Verdict
			ref = c.token(&part, &other, whole)
		}
		c.d.Operands = append(c.d.Operands, v)
		if ref != nil {
			c.refusals = append(c.refusals, ref)
		}
	}
}

func (c *call) token(op *argv.Operand, v *Verdict, whole bool) *Refusal {
	if _, ok := path.Stream(op.Text); ok {
		v.Exists, v.Role = true, path.StandardStream
		return nil
	}
	f, err := path.Resolve(c.wd, op.Text, path.Follow)
	if err != nil {
		if !whole && strings.Contains(op.Text, "/") && !errors.Is(err, syscall.ENAMETOOLONG) {
			return c.unresolvable(op, err)
		}
		if c.regions.Role(path.Clean(c.wd.Path, op.Text)) == path.RawDevice {
			return c.unresolvable(op, err)
		}
		return nil
	}
	v.Resolved, v.Exists, v.Role = f.Path, f.Exists, c.role(f)
	if f.Exists {
		v.Dev, v.Ino, v.Nlink = f.Dev, f.Ino, f.Nlink
	}
	u := use{file: f, text: op.Text, face: argv.Read}
	defer f.Close()
	if whole {
		if v.Role == path.StandardStream {
			return nil
		}
		ref := c.closedAt(op, &u, v.Role)
		if ref != nil {
			ref.Face = op.Value.Face
		}
		return ref
	}
	if !f.Exists && !strings.Contains(op.Text, "/") {
		return nil
	}
	_, uses, ref := c.operand(op)
	closeUses(uses)
	return ref
}

// cageRefusals refuses what only a whole cage could hold, if there is none.
func (c *call) cageRefusals(known bool) {
	whole := Whole(c.d.Missing)
	if len(c.lists) > 0 {
		for _, op := range c.lists {
			if !whole {
				c.refusals = append(c.refusals, &Refusal{
					Code: CodeUnconfined, Reason: "Unconfined", Arg: op.Arg, Text: op.Text, Face: op.Value.Lists,
					Message: c.tool + " uses the files listed in " + spell(op.Text, op.Flag, "") + ", and nothing holds it to " + argv.Quote(c.root.Path),
				})
				continue
			}
			c.note("the files listed in " + argv.Quote(op.Text) + " were not looked at: the cage holds each of them to the root")
		}
	}
	if c.hides && !slices.Contains(c.d.Enforced, holdsFS) {
		c.refusals = append(c.refusals, &Refusal{
			Code: CodeUnconfined, Reason: "Unconfined", Arg: -1, Path: c.root.Path, Face: argv.Read,
			Message: c.tool + " reads all of " + argv.Quote(c.wd.Path) + ", and nothing hides what is closed in it",
		})
	}
	if len(c.trees) > 0 && !slices.Contains(c.d.Enforced, holdsProtected) {
		c.refusals = append(c.refusals, c.trees...)
	}
	if whole {
		return
	}
	if ref := c.needsCage(c.req.Cage, known); ref != nil {
		_, held := c.d.Cage.Enforced(c.req.Kernel)
		switch {
		case c.req.Cage == CageOff && Whole(held):
			ref.Remedy = &Remedy{
				Kind: "flag", Who: "caller", Change: "drop --cage off",
				Message: "drop --cage off: in a cage " + c.tool + " can run",
			}
		case c.req.Cage != CageAuto && c.needsCage(CageAuto, known) == nil:
			ref.Remedy = &Remedy{
				Kind: "flag", Who: "caller", Change: "add --cage auto",
				Message: "add --cage auto to run " + c.tool + " all the same, not held to " + join(c.d.Missing),
			}
		}
		c.refusals = append(c.refusals, ref)
	}
}

// needsCage refuses a call whose cage is not whole, if it needs one under mode.
func (c *call) needsCage(mode CageMode, known bool) *Refusal {
	missing := "the cage is not whole (missing: " + join(c.d.Missing) + ")"
	switch {
	case mode == CageAuto:
	case mode != CageRequire && !known:
		return &Refusal{
			Code: CodeUnknownTool, Reason: "Cage", Arg: -1, Text: c.req.Call.Argv[0],
			Message: c.tool + " is not known to wrap, and " + missing,
		}
	case len(c.req.Call.Unexplained) > 0:
		un := c.req.Call.Unexplained[0]
		msg := c.tool + ": " + argv.Quote(un.Token) + " is not explained: " + argv.Escape(un.Why)
		if un.Nearest != "" {
			msg += " (nearest: " + argv.Quote(un.Nearest) + ")"
		}
		return &Refusal{
			Code: CodeUnexplained, Reason: "Unconfined", Arg: un.Arg, Text: un.Token, Message: msg + ", and " + missing,
		}
	case mode == CageRequire:
		return &Refusal{Code: CodeCage, Reason: "Cage", Arg: -1, Message: missing}
	}
	return nil
}

// settle sorts what was found and turns refusals into the error.
func (c *call) settle() error {
	// As unsigned, -1 is last.
	slices.SortStableFunc(c.refusals, func(a, b *Refusal) int { return cmp.Compare(uint(a.Arg), uint(b.Arg)) })
	for _, layer := range [...]string{"argv", "path", "cage"} {
		l := Layer{Layer: layer, Result: "allowed"}
		for _, ref := range c.refusals {
			if layerOf(ref.Code) == layer {
				l.Result, l.Rule = "refused", string(ref.Code)
				break
			}
		}
		c.d.Layers = append(c.d.Layers, l)
	}
	if len(c.refusals) > 0 {
		return &RefusedError{c.refusals}
	}
	return nil
}

func layerOf(code Code) string {
	switch code {
	case CodeUnexplained, CodeProgram:
		return "argv"
	case CodeCage, CodeUnknownTool, CodeUnconfined:
		return "cage"
	}
	return "path"
}

package exec

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/exec/cage"
	"github.com/wrapexec/wrap/guard"
	"github.com/wrapexec/wrap/overlays"
)

// The bounds of the run that tells a tool's variant.
const (
	probeTimeout = 5 * time.Second
	maxProbe     = 4 << 10
)

// findTool resolves the tool once to the file that will be executed, and finds
// the overlay that describes it.
func (r *run) findTool(ctx context.Context) error {
	name := r.call.Argv[0]
	path, _ := lookup(r.s.environ, "PATH")
	var writable []string
	for _, g := range r.call.Grants {
		if g.Faces.Mutates() {
			writable = append(writable, g.Path)
		}
	}
	r.report.Tool = &ToolReport{Name: name}
	found, err := overlays.FindTool(name, overlays.PathPolicy{
		PATH: path, Root: r.root.Path(), Workdir: r.workdir.Path(), Writable: writable, Own: r.s.own(), UID: os.Geteuid(),
	})
	if found != nil {
		for _, d := range found.Dropped {
			r.s.log.Info("PATH entry dropped", "entry", argv.Escape(d))
		}
	}
	if err != nil {
		return findError(name, found, err)
	}
	r.file = found
	r.report.Tool.Path = found.Real
	req := r.request()
	req.Call = &argv.Invocation{Argv: r.call.Argv}
	req.Tool.Name = filepath.Base(name)
	execs, err := overlays.Interpreter(found.Real, found.PATH, func(path string) error { return guard.JudgeExec(req, path) })
	if ref, ok := errors.AsType[*guard.Refusal](err); ok {
		return &guard.RefusedError{Refusals: []*guard.Refusal{ref}}
	}
	if pe, ok := errors.AsType[*guard.PolicyError](err); ok {
		return &CallError{pe.Error()}
	}
	if err != nil {
		return &NotFoundError{Msg: argv.Quote(name) + ": " + argv.Escape(err.Error()), Found: true}
	}
	r.tool = guard.Tool{Name: filepath.Base(name), Path: found.Real}
	for _, e := range execs {
		r.tool.Execs = append(r.tool.Execs, guard.Rule{Path: e, Handle: -1, Rights: guard.Execute | guard.ReadFile})
	}
	if !found.Trusted {
		r.s.log.Info("unknown tool", "tool", argv.Escape(name), "why", argv.Escape(found.Why))
		return nil
	}
	for _, o := range overlays.Lookup(name) {
		out, err := r.probe(ctx, o)
		if err != nil {
			return &SetupError{"probe of " + argv.Quote(name), err}
		}
		version, ok, verified := o.Match(out)
		r.s.log.Info("overlay", "tool", name, "variant", o.Variant, "version", argv.Escape(version), "matches", ok, "verified", verified)
		if !ok {
			continue
		}
		r.overlay = o
		r.tool.Overlay, r.tool.Verified = o.Tool+"@"+o.Variant, verified
		r.report.Tool.Overlay, r.report.Tool.Verified = r.tool.Overlay, verified
		for _, glob := range o.Runs {
			// A trailing "/*" is the directory: one rule instead of hundreds.
			p := strings.TrimSuffix(glob, "/*")
			r.tool.Execs = append(r.tool.Execs, guard.Rule{Path: p, Handle: -1, Rights: guard.Execute | guard.ReadFile | guard.ReadDir})
		}
		break
	}
	return nil
}

func findError(name string, found *overlays.Found, err error) error {
	switch {
	case errors.Is(err, overlays.ErrNotFound):
		msg := argv.Escape(err.Error())
		if !strings.Contains(name, "/") {
			msg += " in the PATH used, " + argv.Quote(found.PATH)
		}
		return &NotFoundError{Msg: msg}
	case errors.Is(err, overlays.ErrNotExecutable):
		return &NotFoundError{Msg: argv.Escape(err.Error()), Found: true}
	}
	return &SetupError{"find " + argv.Quote(name), err}
}

// probe is the output of the tool's variant probe: from the cache if this very
// file was probed before, else by a caged read-only run in an empty directory.
func (r *run) probe(ctx context.Context, o *overlays.Overlay) ([]byte, error) {
	id := r.file.Identity() + " " + strings.Join(o.Probe.Args, " ")
	cache := filepath.Join(r.s.stateDir, "probe", o.Tool+"@"+o.Variant)
	if r.s.stateErr == nil {
		if out, ok := readProbe(cache, id); ok {
			return out, nil
		}
	}
	dir, err := nameTmp(r.root.Path())
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	empty, err := guard.OpenRoot(dir, guard.RootOptions{Named: true})
	if err != nil {
		return nil, err
	}
	defer empty.Close()
	c := guard.Cage{
		Rules:  append(cage.Profiles(o.Profiles, r.s.childHome()), r.tool.Execs...),
		NoAttr: true,
	}
	env := environment{caller: r.s.environ, overlay: o, path: r.file.PATH, tmp: dir, pwd: dir}
	out, err := r.probeRun(ctx, &c, empty, append([]string{o.Tool}, o.Probe.Args...), env.build())
	if err != nil {
		return nil, err
	}
	if r.s.stateErr == nil {
		if err := writeProbe(cache, id, out); err != nil {
			r.s.log.Info("probe is not cached", "err", argv.Escape(err.Error()))
		}
	}
	return out, nil
}

// A cached probe is a line that names the file's identity and the probe, then
// what it printed. It lies among wrap's own files; one that is not a plain file
// of the caller's, or that others may write, does not count.
func readProbe(name, id string) ([]byte, bool) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o022 != 0 || int(st.Uid) != os.Geteuid() {
		return nil, false
	}
	buf := make([]byte, 16<<10)
	n, err := unix.Read(fd, buf)
	if err != nil || n < 0 {
		return nil, false
	}
	first, rest, ok := strings.Cut(string(buf[:n]), "\n")
	if !ok || first != id {
		return nil, false
	}
	return []byte(rest), true
}

func writeProbe(name, id string, out []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	tmp := name + "." + strconv.Itoa(os.Getpid()) + newID()
	if err := os.WriteFile(tmp, append([]byte(id+"\n"), out...), 0o600); err != nil {
		return err
	}
	if err := os.Rename(tmp, name); err != nil {
		os.Remove(tmp)
		return err
	}
	return nil
}

// tmpDirs are where a call's private directory is made: the first that exists
// and does not lie beneath the root, so that a read-only call creates no name
// there.
var tmpDirs = [...]string{"/tmp", "/var/tmp", "/dev/shm"}

// nameTmp names a private directory for one call, outside root (beneath "/" there
// is no outside). It does not
// make it: a call that is refused leaves no trace.
func nameTmp(root string) (string, error) {
	var st unix.Stat_t
	for _, base := range tmpDirs {
		if (root == "/" || !beneath(base, root)) && unix.Stat(base, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return base + "/wrap-" + newID(), nil
		}
	}
	return "", errors.New("every temporary directory lies beneath the root " + argv.Quote(root) + " (use --tmp shared)")
}

// beneath reports whether the clean path p is root or lies beneath it.
func beneath(p, root string) bool {
	return p == root || root == "/" || strings.HasPrefix(p, root+"/")
}

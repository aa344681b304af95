package overlays_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/overlays"
)

// scene is an example laid out in a scratch directory and parsed.
type scene struct {
	dir  string
	inv  *argv.Invocation
	uses []use
}

// use is a path that the parse names, with what happens to it.
type use struct {
	key  string // as the example names it
	path string // absolute
	v    argv.Value
	face argv.Face
}

func layOut(t *testing.T, o *overlays.Overlay, ex *overlays.Example) *scene {
	t.Helper()
	s := &scene{dir: t.TempDir()}
	for _, f := range ex.Files {
		name := filepath.Join(s.dir, f.Path)
		dir := filepath.Dir(name)
		if strings.HasSuffix(f.Path, "/") {
			dir = name
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir == name {
			continue
		}
		if err := os.WriteFile(name, []byte(f.Content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if s.inv, err = argv.Parse(&o.Command, ex.Run); err != nil {
		t.Fatal(err)
	}
	for _, u := range s.inv.Unexplained {
		t.Errorf("%q: %q is not explained: %s", ex.Run, u.Token, u.Why)
	}
	for i := range s.inv.Operands {
		s.add(t, &s.inv.Operands[i])
	}
	return s
}

// add records what op names: for a directory that receives names, those; for a
// list, what stands in it too.
func (s *scene) add(t *testing.T, op *argv.Operand) {
	t.Helper()
	if op.Stream {
		return
	}
	key := op.Text
	if op.Base != "" {
		key = op.Base + "/" + op.Text
	}
	put := func(key string, face argv.Face) {
		path := key
		if !strings.HasPrefix(path, "/") {
			path = filepath.Join(s.dir, path)
		}
		s.uses = append(s.uses, use{key, path, op.Value, face})
	}
	if info, err := os.Stat(filepath.Join(s.dir, key)); err == nil && info.IsDir() && op.Value.Names == "sources" {
		for _, name := range op.Sources {
			put(key+"/"+name, op.Value.Face)
		}
		return
	}
	put(key, op.Value.Face)
	if op.Value.Lists != 0 {
		text, err := os.ReadFile(filepath.Join(s.dir, key))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 || r == '\n' }) {
			put(name, op.Value.Lists)
		}
	}
}

// TestExampleFaces: an example's parse gives the faces that it states, and no
// others.
func TestExampleFaces(t *testing.T) {
	for _, o := range described(t) {
		for i := range o.Examples {
			ex := &o.Examples[i]
			t.Run(strings.Join(ex.Run, " "), func(t *testing.T) {
				got, want := map[string]string{}, map[string]string{}
				for _, u := range layOut(t, o, ex).uses {
					got[u.key] = u.face.String()
				}
				for _, f := range ex.Faces {
					want[f.Path] = f.Face.String()
				}
				if !maps.Equal(got, want) {
					t.Errorf("%q: faces are %v, the example says %v", ex.Run, got, want)
				}
			})
		}
	}
}

// TestExampleTruth runs each example and holds what the kernel was asked to
// against the faces: all that is written, created, renamed, removed, linked,
// read or executed is named by an operand with that face, and each such operand
// is used so.
func TestExampleTruth(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		missing(t, "strace is not installed")
	}
	if out, err := exec.Command("strace", "-f", "true").CombinedOutput(); err != nil {
		missing(t, "strace does not work here: %v\n%s", err, out)
	}
	for _, o := range described(t) {
		for i := range o.Examples {
			ex := &o.Examples[i]
			t.Run(strings.Join(ex.Run, " "), func(t *testing.T) {
				t.Parallel()
				needVersion(t, o)
				s := layOut(t, o, ex)
				for _, argv := range ex.Setup {
					asks(t, s.dir, argv...)
				}
				trace := traced(t, s.dir, ex.Run)
				for _, fault := range s.judge(o, trace) {
					t.Errorf("%q: %s", ex.Run, fault)
				}
				if t.Failed() {
					t.Logf("trace: %v", trace)
				}
			})
		}
	}
}

// event is one thing that a run did, or tried and failed at, to a path.
type event struct {
	what string // "read", "mutate", "exec", "look"
	path string
	ok   bool
}

// traced runs argv in dir under strace and returns what it did.
func traced(t *testing.T, dir string, argv []string) []event {
	t.Helper()
	out := filepath.Join(t.TempDir(), "trace")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := append([]string{"-f", "-qq", "-y", "-s", "4096", "-o", out, "-e", "trace=%file,fchdir,getdents64,ftruncate,fchmod,fchown,fsetxattr,fremovexattr,utimensat", "--"}, argv...)
	cmd := exec.CommandContext(ctx, "strace", args...)
	cmd.Dir = dir
	tmp := t.TempDir()
	cmd.Env = append(environ(tmp), "TMPDIR="+tmp)
	if text, err := cmd.CombinedOutput(); strings.Contains(string(text), "strace:") {
		t.Fatalf("strace %q: %v\n%s", argv, err, text)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	events := readTrace(string(text), dir)
	if len(events) < 3 {
		t.Fatalf("the trace is empty:\n%s", text)
	}
	return events
}

var (
	traceLine = regexp.MustCompile(`^\d+ +(\w+)\((.*)\) += (-?\d+|\?)`)
	// A descriptor with its path, or a quoted name.
	traceArg = regexp.MustCompile(`(?:\d+|AT_FDCWD)<([^>]*)>|"((?:[^"\\]|\\.)*)"`)
)

// readTrace reads strace's lines. Where a call names paths, each counts; where
// it names only a descriptor, that one's path.
func readTrace(text, dir string) []event {
	var events []event
	cwd := dir
	for line := range strings.SplitSeq(text, "\n") {
		m := traceLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		call, ok := m[1], !strings.HasPrefix(m[3], "-")
		what := traceKind(call, m[2])
		base := cwd
		var paths []string
		named := false
		for _, a := range traceArg.FindAllStringSubmatch(m[2], -1) {
			if a[1] != "" {
				base = a[1]
				if !named {
					paths = []string{a[1]}
				}
				if strings.HasPrefix(call, "f") && call != "futimesat" && call != "fchmodat" && call != "fchownat" {
					break
				}
				continue
			}
			name, err := strconv.Unquote(`"` + a[2] + `"`)
			if err != nil {
				name = a[2]
			}
			if !strings.HasPrefix(name, "/") {
				name = base + "/" + name
			}
			if !named {
				paths, named = nil, true
			}
			paths = append(paths, filepath.Clean(name))
			if call == "execve" || strings.Contains(call, "xattr") { // the rest is argv, or a name and a value
				break
			}
		}
		if call == "symlink" || call == "symlinkat" { // the first is a text
			paths = paths[max(0, len(paths)-1):]
		}
		if (call == "chdir" || call == "fchdir") && ok && len(paths) > 0 {
			cwd = paths[0]
		}
		for _, p := range paths {
			if info, err := os.Stat(p); what == "read" && strings.HasPrefix(call, "open") && err == nil && info.IsDir() {
				what = "look" // a directory is read by getdents64
			}
			events = append(events, event{what, p, ok})
		}
	}
	return events
}

func traceKind(call, args string) string {
	switch {
	case call == "execve" || call == "execveat":
		return "exec"
	case strings.HasPrefix(call, "open") || call == "creat":
		switch {
		case call == "creat" || strings.Contains(args, "O_WRONLY") || strings.Contains(args, "O_RDWR") || strings.Contains(args, "O_CREAT"):
			return "mutate"
		case strings.Contains(args, "O_PATH"), strings.Contains(args, "O_DIRECTORY"):
			return "look"
		}
		return "read"
	}
	if call == "getdents64" {
		return "read"
	}
	for _, prefix := range []string{
		"rename", "link", "symlink", "unlink", "mkdir", "rmdir", "mknod", "truncate", "ftruncate",
		"chmod", "fchmod", "chown", "fchown", "lchown", "utime", "futimes", "setxattr", "fsetxattr", "lsetxattr",
		"removexattr", "fremovexattr", "lremovexattr",
	} {
		if strings.HasPrefix(call, prefix) {
			return "mutate"
		}
	}
	return "look"
}

// judge compares the events with what the parse said, both ways.
func (s *scene) judge(o *overlays.Overlay, events []event) (faults []string) {
	for _, e := range events {
		if !e.ok || e.what == "look" {
			continue
		}
		if e.what == "exec" {
			if filepath.Base(e.path) != o.Tool && !s.covers(o, e) {
				faults = append(faults, "runs "+e.path)
			}
			continue
		}
		if beneath(e.path, s.dir) && !s.covers(o, e) {
			faults = append(faults, e.what+" "+e.path)
		}
	}
	for _, u := range s.uses {
		done := func(what string) bool {
			return slices.ContainsFunc(events, func(e event) bool {
				if what != "" && e.what != what {
					return false
				}
				if u.face&argv.Exec != 0 {
					return filepath.Base(e.path) == filepath.Base(u.path)
				}
				return e.path == u.path || u.v.Effect&argv.Tree != 0 && beneath(e.path, u.path)
			})
		}
		switch {
		case u.face&(argv.Write|argv.Rebind) != 0 && !done("mutate"):
			faults = append(faults, u.key+" is said to be changed, and is not")
		case u.face&argv.Exec != 0 && !done("exec"):
			faults = append(faults, u.key+" is said to be run, and is not")
		case !done(""):
			faults = append(faults, u.key+" is said to be used, and is not")
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

func beneath(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// covers reports whether some operand allows e.
func (s *scene) covers(o *overlays.Overlay, e event) bool {
	for _, u := range s.uses {
		same := e.path == u.path
		under := beneath(e.path, u.path)
		switch e.what {
		case "exec":
			if u.face&argv.Exec != 0 && filepath.Base(e.path) == filepath.Base(u.path) {
				return true
			}
		case "read":
			if u.face&argv.Read != 0 && (same || u.v.Recursive && under) {
				return true
			}
			// A directory is listed for the next number of a backup.
			if u.v.Effect&argv.Replace != 0 && e.path == filepath.Dir(u.path) {
				return true
			}
			// What is removed or copied into is walked through as well.
			if u.face&(argv.Write|argv.Rebind) != 0 && u.v.Effect&argv.Tree != 0 && under {
				return true
			}
		case "mutate":
			if u.face&(argv.Write|argv.Rebind) == 0 {
				continue
			}
			beside := filepath.Dir(e.path) == filepath.Dir(u.path)
			switch {
			case same,
				u.v.Effect&argv.Tree != 0 && under,
				u.v.Effect&argv.Replace != 0 && beside,
				u.v.Effect&argv.MakeDir != 0 && beneath(u.path, e.path):
				return true
			}
		}
	}
	for _, glob := range o.Runs {
		if ok, _ := filepath.Match(glob, e.path); ok && e.what == "exec" {
			return true
		}
	}
	return false
}

// TestJudgeCanFail is the proof that a wrong face is seen.
func TestJudgeCanFail(t *testing.T) {
	sort := overlays.Lookup("sort")[0]
	s := &scene{dir: "/d"}
	in := use{"in", "/d/in", argv.Value{}, argv.Read}
	out := use{"out", "/d/out", argv.Value{Effect: argv.Overwrite}, argv.Write}
	read, write := event{"read", "/d/in", true}, event{"mutate", "/d/out", true}
	for _, tt := range []struct {
		name   string
		uses   []use
		events []event
		want   string
	}{
		{"control", []use{in, out}, []event{read, write}, ""},
		{"unsaid write", []use{in}, []event{read, write}, "mutate /d/out"},
		{"unsaid read", []use{out}, []event{read, write}, "read /d/in"},
		{"unsaid program", []use{in}, []event{read, {"exec", "/bin/gzip", true}}, "runs /bin/gzip"},
		{"itself", []use{in}, []event{read, {"exec", "/bin/sort", true}}, ""},
		{"write said, not done", []use{in, out}, []event{read}, "out is said to be changed, and is not"},
		{"read said, not done", []use{in, out}, []event{write}, "in is said to be used, and is not"},
		{"written though read is said", []use{in, {"out", "/d/out", argv.Value{}, argv.Read}}, []event{read, write}, "mutate /d/out"},
		{"beside", []use{in, out}, []event{read, write, {"mutate", "/d/tmp", true}}, "mutate /d/tmp"},
		{"failed try", []use{in, out}, []event{read, write, {"mutate", "/d/tmp", false}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.uses = tt.uses
			if got := strings.Join(s.judge(sort, tt.events), "; "); got != tt.want {
				t.Errorf("judge found %q, want %q", got, tt.want)
			}
		})
	}
}

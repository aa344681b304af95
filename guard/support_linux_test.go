package guard

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/overlays"
)

// whole is a kernel that can do everything.
var whole = Kernel{Landlock: 7, Seccomp: true, Mounts: true}

// stage is a scratch directory R with a root R/w and a home R/home.
type stage struct {
	t testing.TB
	R string
}

// newStage makes a stage. An entry "a/" is a directory, "l -> x" a link, "l => x"
// a hard link, anything else a file; R in a target is the stage.
func newStage(t testing.TB, entries ...string) *stage {
	t.Helper()
	R, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{t, R}
	for _, e := range append([]string{"w/", "home/"}, entries...) {
		name, target, link := strings.Cut(e, " -> ")
		if !link {
			name, target, _ = strings.Cut(e, " => ")
		}
		at := filepath.Join(R, name)
		if target != "" && strings.HasPrefix(target, "R/") {
			target = st.path(target)
		}
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, at)
		case target != "":
			err = os.Link(target, at)
		case strings.HasSuffix(e, "/"):
			err = os.MkdirAll(at, 0o755)
		default:
			err = os.WriteFile(at, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return st
}

// path replaces a leading R.
func (st *stage) path(p string) string {
	if rest, ok := strings.CutPrefix(p, "R/"); ok {
		return filepath.Join(st.R, rest)
	}
	if p == "R" {
		return st.R
	}
	return p
}

func (st *stage) root(name string) *Root {
	st.t.Helper()
	r, err := OpenRoot(st.path(name), RootOptions{Named: true})
	if err != nil {
		st.t.Fatal(err)
	}
	st.t.Cleanup(func() { r.Close() })
	return r
}

// request is a call that may write, in R/w, with a whole cage. Words of args
// that hold "R/" are taken from the stage. A tool that no overlay describes is
// an unknown one.
func (st *stage) request(args ...string) *Request {
	st.t.Helper()
	words := slices.Clone(args)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "R/", st.R+"/")
	}
	req := &Request{
		Root: st.root("R/w"), Mode: ReadWrite, Kernel: whole,
		Policy: Policy{Homes: []string{st.R + "/home"}},
		Tool:   Tool{Name: words[0], Path: "/usr/bin/" + words[0]},
	}
	var err error
	if list := overlays.Lookup(words[0]); len(list) > 0 {
		req.Tool.Overlay, req.Tool.Verified = words[0]+"@"+list[0].Variant, true
		req.Call, err = argv.Parse(&list[0].Command, words)
	} else {
		req.Call, err = argv.Unknown(words)
	}
	if err != nil {
		st.t.Fatal(err)
	}
	return req
}

// words splits a command line at spaces.
func words(line string) []string { return strings.Fields(line) }

// decide decides and closes the decision with the test.
func decide(t testing.TB, req *Request) (*Decision, []*Refusal) {
	t.Helper()
	d, err := Decide(req)
	if d != nil {
		t.Cleanup(func() { d.Close() })
	}
	if err == nil {
		return d, nil
	}
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok {
		t.Fatalf("Decide(%q): %v", req.Call.Argv, err)
	}
	if !errors.Is(err, ErrRefused) || len(refused.Refusals) == 0 {
		t.Fatalf("Decide(%q): %v is no refusal", req.Call.Argv, err)
	}
	return d, refused.Refusals
}

// codes joins the codes of refusals.
func codes(list []*Refusal) string {
	var out []string
	for _, r := range list {
		out = append(out, string(r.Code))
	}
	return strings.Join(out, " ")
}

// Package wrap_test holds the rules of the repository as tests: which room may
// import which, what the launcher must never link, that every package says what
// it is, that the other systems build, and that the documents tell the truth.
package wrap_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/wrapexec/wrap"

// rooms lists every room and the rooms that it may import. A package belongs to
// the longest room that it equals or lies beneath, and may import its own room.
var rooms = []struct {
	name string
	may  []string
}{
	{"argv", nil},
	{"overlays", []string{"argv"}},
	{"guard", []string{"argv"}},
	{"breaker", []string{"argv"}},
	{"audit", []string{"argv"}},
	{"exec/cage", []string{"argv", "guard"}},
	{"exec", []string{"argv", "overlays", "guard", "breaker", "audit", "exec/cage"}},
	{"shim", []string{"argv", "overlays", "guard", "breaker", "audit", "exec"}},
	{"cmd", []string{"argv", "overlays", "guard", "breaker", "audit", "exec/cage", "exec", "shim"}},
	{"bench", nil},
}

// forbidden names what must not be linked into the launcher, and why. A name
// that ends in "/" stands for everything beneath it.
var forbidden = []struct{ path, why string }{
	{"net/http", "1.1 ms of start-up, and a launcher has nobody to talk to"},
	{"crypto/tls", "start-up; comes with net/http"},
	{"regexp", "compiling at start costs more than the cage; use strings.Cut or a scanner"},
	{"text/template", "reflection-heavy and large; messages are plain Go"},
	{"html/template", "as text/template"},
	{"encoding/gob", "start-up; state files are JSON"},
	{"debug/elf", "large; the interpreter is found by a small reader of our own"},
	{"os/user", "reads files and, with cgo, loads libraries at start; guard/path reads passwd"},
	{"os/exec", "the supervisor forks by itself; this would be a second way to run something"},
	{"testing", "registers flags"},
	{"github.com/pelletier/go-toml/", "data is compiled to Go; TOML belongs to generators and wrapctl"},
	{"github.com/BurntSushi/toml", "as go-toml"},
	{"github.com/modelcontextprotocol/", "MCP belongs to wrapctl"},
	{"github.com/redis/", "a fleet's breaker store belongs to wrapctl and embedders"},
	{"github.com/google/jsonschema-go/", "schemas belong to MCP"},
	{module + "/overlays/decode", "the TOML side of overlays"},
	{module + "/breaker/redis", "as redis"},
	{module + "/shim", "the launcher is what shims call"},
}

// TestImportDirections fails where a room imports one that lies above it, and
// for a package that no room claims.
func TestImportDirections(t *testing.T) {
	for _, p := range listPackages(t, nil, "./...") {
		if p.ImportPath == module {
			continue // this package: tests only
		}
		from, may, ok := room(p.ImportPath)
		if !ok {
			t.Errorf("%s belongs to no room; add it to DESIGN's list and to this test", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module+"/") {
				continue
			}
			to, _, _ := room(imp)
			if to != from && !slices.Contains(may, to) {
				t.Errorf("%s imports %s: %s may import only %v", p.ImportPath, imp, from, may)
			}
		}
	}
}

// TestLauncherImports fails if cmd/wrap reaches a package that is forbidden to
// it, and names the chain of imports that leads there.
func TestLauncherImports(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		deps := listPackages(t, []string{"GOOS=" + goos, "CGO_ENABLED=0"}, "-deps", "./cmd/wrap")
		if len(deps) < 50 {
			t.Fatalf("GOOS=%s: cmd/wrap has %d dependencies; go list did not see it all", goos, len(deps))
		}
		for _, p := range deps {
			for _, f := range forbidden {
				if p.ImportPath == f.path || strings.HasSuffix(f.path, "/") && strings.HasPrefix(p.ImportPath+"/", f.path) {
					t.Errorf("GOOS=%s: cmd/wrap links %s (%s): %s", goos, p.ImportPath, f.why, strings.Join(chain(deps, p.ImportPath), " < "))
				}
			}
		}
	}
}

// lazy are the calls that a package-level variable of the launcher may be
// initialised by: they do next to nothing until asked.
var lazy = []string{"errors.New", "sync.OnceFunc", "sync.OnceValue", "sync.OnceValues"}

// TestLauncherStart fails where a package of ours that the launcher links does
// work before main: an init function, a map that is built, a call. All of them
// are paid by every run of every tool.
func TestLauncherStart(t *testing.T) {
	for _, p := range listPackages(t, nil, "-deps", "./cmd/wrap") {
		if !strings.HasPrefix(p.ImportPath, module+"/") {
			continue
		}
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, pos := range startWork(f) {
				t.Errorf("%s: work before main; make it a literal of structs and slices, a switch, or lazy %v", fset.Position(pos), lazy)
			}
		}
	}
}

// TestStartWork is the proof that work before main is seen.
func TestStartWork(t *testing.T) {
	for _, tt := range []struct {
		name, decl string
		want       int
	}{
		{"constant", "const a = 1", 0},
		{"slice of structs", "var a = []struct{ b int }{{1}, {2}}", 0},
		{"error", `var a = errors.New("a")`, 0},
		{"lazy value", "var a = sync.OnceValue(func() int { return f() })", 0},
		{"call within a function", "func a() { f(); _ = map[int]int{} }", 0},
		{"method named init", "type a struct{}; func (a) init() {}", 0},
		{"call", "var a = f()", 1},
		{"call within a literal", "var a = []int{f()}", 1},
		{"function called at once", "var a = func() int { return 1 }()", 1},
		{"map", "var a = map[int]int{1: 1}", 1},
		{"map within a literal", "var a = []map[int]int{map[int]int{1: 1}}", 1},
		{"made map", "var a = make(map[int]int)", 1},
		{"init", "func init() {}", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := parser.ParseFile(token.NewFileSet(), "", "package a\n"+tt.decl, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(startWork(f)); got != tt.want {
				t.Errorf("startWork(%q) found %d places, want %d", tt.decl, got, tt.want)
			}
		})
	}
}

// TestPackageComments fails for a package, commands and test-only packages
// included, whose files hold no package comment, or more than one.
func TestPackageComments(t *testing.T) {
	for _, p := range listPackages(t, nil, "./...") {
		files := slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles)
		if len(files) == 0 {
			files = slices.Concat(p.TestGoFiles, p.XTestGoFiles)
		}
		var documented []string
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Error(err)
				continue
			}
			if f.Doc != nil {
				documented = append(documented, name)
			}
		}
		if len(documented) != 1 {
			t.Errorf("%s: files with a package comment are %v, want exactly one", p.ImportPath, documented)
		}
	}
}

// TestOtherSystemsBuild compiles everything for systems on which the tests do
// not run: the pure packages are promised there, and an honest error from the
// rest.
func TestOtherSystemsBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: cross-compiles the standard library the first time")
	}
	for _, system := range []string{"linux/arm64", "linux/386", "darwin/amd64", "freebsd/amd64"} {
		t.Run(system, func(t *testing.T) {
			trackTree(t)
			goos, goarch, _ := strings.Cut(system, "/")
			cmd := exec.Command("go", "build", "./...")
			cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("go build ./...: %v\n%s", err, out)
			}
		})
	}
}

// startWork finds what a file has the runtime do before main. It reads syntax
// only: a conversion that looks like a call counts as one.
func startWork(f *ast.File) (found []token.Pos) {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				found = append(found, d.Pos())
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncLit:
					return false
				case *ast.CompositeLit:
					if _, isMap := n.Type.(*ast.MapType); isMap {
						found = append(found, n.Pos())
						return false
					}
				case *ast.CallExpr:
					if !slices.Contains(lazy, types.ExprString(n.Fun)) {
						found = append(found, n.Pos())
					}
					return false
				}
				return true
			})
		}
	}
	return found
}

// room is the longest room that claims an import path, and what it may import.
func room(importPath string) (name string, may []string, ok bool) {
	rel := strings.TrimPrefix(importPath, module+"/") + "/"
	for _, r := range rooms {
		if strings.HasPrefix(rel, r.name+"/") && len(r.name) > len(name) {
			name, may, ok = r.name, r.may, true
		}
	}
	return name, may, ok
}

// goPackage is what these tests read of `go list -json`.
type goPackage struct {
	Dir, ImportPath                                              string
	GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
	Imports                                                      []string
}

// listPackages is `go list -json ARGS` with env added to the environment.
func listPackages(t *testing.T, env []string, args ...string) []goPackage {
	t.Helper()
	trackTree(t)
	cmd := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Imports"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.Bytes())
	}
	var list []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// chain is one way from to up to a package that nothing in deps imports.
func chain(deps []goPackage, to string) []string {
	way := []string{to}
	for {
		i := slices.IndexFunc(deps, func(p goPackage) bool { return slices.Contains(p.Imports, way[len(way)-1]) })
		if i < 0 {
			return way
		}
		way = append(way, deps[i].ImportPath)
	}
}

// trackTree opens every directory of the repository. `go test` caches a result
// until something that the test itself opened has changed, and these tests look
// at the tree through other programs, which it cannot see.
func trackTree(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (name == ".git" || name == "bin") {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

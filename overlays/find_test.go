package overlays_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wrapexec/wrap/overlays"
)

// trustedDir is a new directory that only root and the caller can change, which
// nothing beneath a temporary directory is.
func trustedDir(t *testing.T) string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		missing(t, "no home directory: %v", err)
	}
	dir, err := os.MkdirTemp(home, ".wrap-test-")
	if err != nil {
		missing(t, "no directory in the home: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree makes files below dir: "a/" is a directory, "a -> b" a link, "a 755" a
// file with that mode.
func tree(t *testing.T, dir string, specs ...string) {
	t.Helper()
	for _, spec := range specs {
		var err error
		switch name, rest, _ := strings.Cut(spec, " "); {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(filepath.Join(dir, name), 0o755)
		case strings.HasPrefix(rest, "-> "):
			err = os.Symlink(strings.ReplaceAll(rest[3:], "$D", dir), filepath.Join(dir, name))
		default:
			var mode os.FileMode
			for _, digit := range rest {
				mode = mode<<3 | os.FileMode(digit-'0')
			}
			if err = os.WriteFile(filepath.Join(dir, name), []byte("\x7fELF"), 0o600); err == nil {
				err = os.Chmod(filepath.Join(dir, name), mode)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFindTool(t *testing.T) {
	d := trustedDir(t)
	tree(t, d,
		"bin/", "bin/tool 755", "bin/plain 644", "bin/dir/", "bin/loose 777", "bin/group 775",
		"later/", "later/tool 755", "later/plain 755", "later/dir 755", "later/only 755",
		"links/", "links/tool -> ../bin/tool", "links/abs -> $D/bin/tool", "links/chain -> two", "links/two -> $D/links/tool",
		"links/loop -> loop", "links/gone -> nowhere", "links/intoroot -> $D/root/bin/tool", "links/viatmp -> $D/open/tool",
		"root/", "root/bin/", "root/bin/tool 755", "root/out -> $D/bin", "root/sub/",
		"grant/", "grant/tool 755", "open/", "open/tool 755", "shim/", "shim/tool 755", "merged -> bin",
	)
	if err := os.Chmod(filepath.Join(d, "open"), 0o1777); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		tool    string
		path    string // PATH; $D is the scratch directory
		real    string // below d; "" where there is an error
		trusted string // why not; "" for trusted
		err     error
		dropped []string
	}{
		{name: "first", tool: "tool", path: "$D/bin:$D/later", real: "bin/tool"},
		{name: "second", tool: "only", path: "$D/bin:$D/later", real: "later/only"},
		{name: "through a link to a directory", tool: "tool", path: "$D/merged", real: "bin/tool"},
		{name: "relative link", tool: "tool", path: "$D/links", real: "bin/tool"},
		{name: "absolute link", tool: "abs", path: "$D/links", real: "bin/tool"},
		{name: "chain of links", tool: "chain", path: "$D/links", real: "bin/tool"},
		{name: "no such tool", tool: "none", path: "$D/bin:$D/later:/nonexistent", err: overlays.ErrNotFound},
		{name: "no PATH", tool: "tool", err: overlays.ErrNotFound},
		{name: "no name", tool: "", path: "$D/bin", err: overlays.ErrNotFound},
		{name: "not executable ends the search", tool: "plain", path: "$D/bin:$D/later", err: overlays.ErrNotExecutable},
		{name: "directory does not", tool: "dir", path: "$D/bin:$D/later", real: "later/dir"},
		{name: "directory alone", tool: "dir", path: "$D/bin", err: overlays.ErrDirectory},
		{name: "loop of links", tool: "loop", path: "$D/links:$D/later", err: overlays.ErrNotExecutable},
		{name: "dangling link", tool: "gone", path: "$D/links", err: overlays.ErrNotFound},
		{name: "writable by all", tool: "loose", path: "$D/bin", real: "bin/loose", trusted: "$D/bin/loose is writable by others"},
		{name: "writable by the group", tool: "group", path: "$D/bin", real: "bin/group", trusted: "$D/bin/group is writable by others"},
		{name: "directory writable by all", tool: "tool", path: "$D/open", real: "open/tool", trusted: "$D/open is writable by others"},
		{name: "link into a directory writable by all", tool: "viatmp", path: "$D/links", real: "open/tool", trusted: "$D/open is writable by others"},
		{name: "link into the root", tool: "intoroot", path: "$D/links", real: "root/bin/tool", trusted: "it lies beneath the root"},
		{name: "entry in the root", tool: "tool", path: "$D/root/bin:$D/bin", real: "bin/tool", dropped: []string{"$D/root/bin (beneath the root)"}},
		{name: "entry in the root that is not there yet", tool: "tool", path: "$D/root/new/x:$D/bin", real: "bin/tool", dropped: []string{"$D/root/new/x (beneath the root)"}},
		{name: "link in the root that leads out", tool: "tool", path: "$D/root/out:$D/later", real: "later/tool", dropped: []string{"$D/root/out (beneath the root)"}},
		{name: "spelt with dots", tool: "tool", path: "$D/bin/../root/./bin:$D/later", real: "later/tool", dropped: []string{"$D/bin/../root/./bin (beneath the root)"}},
		{name: "dots through the root", tool: "tool", path: "$D/root/../bin", err: overlays.ErrNotFound, dropped: []string{"$D/root/../bin (beneath the root)"}},
		{name: "entry in a grant", tool: "tool", path: "$D/grant:$D/bin", real: "bin/tool", dropped: []string{"$D/grant (beneath a writable grant)"}},
		{name: "shim", tool: "tool", path: "$D/shim:$D/bin", real: "bin/tool", dropped: []string{"$D/shim (beneath wrap's own directories)"}},
		{name: "empty and relative", tool: "tool", path: ":bin:.:$D/later:", real: "later/tool", dropped: []string{" (empty)", "bin (relative)", ". (relative)", " (empty)"}},
		{name: "by path", tool: "$D/bin/tool", path: "$D/bin", real: "bin/tool", trusted: "it is named by a path"},
		{name: "by relative path", tool: "../bin/tool", path: "$D/later", real: "bin/tool", trusted: "it is named by a path"},
		{name: "by path, missing", tool: "./tool", path: "$D/bin", err: overlays.ErrNotFound},
		{name: "by path, through a file", tool: "$D/bin/tool/", err: overlays.ErrNotFound},
		{name: "by path, directory", tool: "$D/bin", err: overlays.ErrDirectory},
		{name: "by path, not executable", tool: "$D/bin/plain", err: overlays.ErrNotExecutable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := func(s string) string { return strings.ReplaceAll(s, "$D", d) }
			f, err := overlays.FindTool(at(tt.tool), overlays.PathPolicy{
				PATH: at(tt.path), Root: d + "/root", Workdir: d + "/root",
				Writable: []string{d + "/grant", d + "/not-there"}, Own: []string{d + "/shim"}, UID: os.Geteuid(),
			})
			if f == nil {
				t.Fatal("no Found")
			}
			for i, s := range tt.dropped {
				tt.dropped[i] = at(s)
			}
			if !slices.Equal(f.Dropped, tt.dropped) {
				t.Errorf("dropped %q, want %q", f.Dropped, tt.dropped)
			}
			if tt.err != nil {
				var fe *overlays.FindError
				if !errors.Is(err, tt.err) || !errors.As(err, &fe) {
					t.Fatalf("error %v, want %v", err, tt.err)
				}
				if tt.err == overlays.ErrNotFound == errors.Is(err, overlays.ErrNotExecutable) {
					t.Errorf("error %v is both, or neither, not found and not executable", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.Real != d+"/"+tt.real || f.Trusted != (tt.trusted == "") || f.Why != at(tt.trusted) {
				t.Errorf("found %q, trusted %v (%s), want %q, %q", f.Real, f.Trusted, f.Why, d+"/"+tt.real, at(tt.trusted))
			}
		})
	}
}

// TestFindToolOwner: a file or a directory of another user is not trusted.
func TestFindToolOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		missing(t, "only root can give files away")
	}
	for _, tt := range []struct {
		name, of string
		uid      int // the caller
		why      string
	}{
		{"control", "", 0, ""},
		{"file of another", "bin/tool", 0, "$D/bin/tool belongs to user 4242"},
		{"directory of another", "bin", 0, "$D/bin belongs to user 4242"},
		{"file of the caller", "bin/tool", 4242, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := trustedDir(t)
			tree(t, d, "bin/", "bin/tool 755")
			if tt.of != "" {
				if err := os.Chown(filepath.Join(d, tt.of), 4242, 4242); err != nil {
					t.Fatal(err)
				}
			}
			f, err := overlays.FindTool("tool", overlays.PathPolicy{PATH: d + "/bin", UID: tt.uid})
			if want := strings.ReplaceAll(tt.why, "$D", d); err != nil || f.Why != want || f.Trusted != (want == "") {
				t.Errorf("trusted %v (%s), %v, want %q", f.Trusted, f.Why, err, want)
			}
		})
	}
}

// TestFindToolNeverHere: a bare name is not looked for in the working directory.
func TestFindToolNeverHere(t *testing.T) {
	d := trustedDir(t)
	tree(t, d, "tool 755")
	t.Chdir(d)
	for _, path := range []string{"", ".", ":", "::", "./", "/nonexistent"} {
		f, err := overlays.FindTool("tool", overlays.PathPolicy{PATH: path, Workdir: d, UID: os.Geteuid()})
		if !errors.Is(err, overlays.ErrNotFound) || f.Real != "" {
			t.Errorf("PATH %q: found %q, %v", path, f.Real, err)
		}
	}
	if _, err := overlays.FindTool("./tool", overlays.PathPolicy{Workdir: d}); err != nil { // the control
		t.Error(err)
	}
}

// TestIdentity: every change that stat(2) shows is another identity.
func TestIdentity(t *testing.T) {
	d := trustedDir(t)
	tree(t, d, "tool 755")
	name := filepath.Join(d, "tool")
	identity := func() string {
		f, err := overlays.FindTool("tool", overlays.PathPolicy{PATH: d, UID: os.Geteuid()})
		if err != nil {
			t.Fatal(err)
		}
		return f.Identity()
	}
	first := identity()
	if again := identity(); again != first {
		t.Errorf("identity was %s, is %s, and nothing has changed", first, again)
	}
	if err := os.WriteFile(name, []byte("\x7fELF and more"), 0o755); err != nil {
		t.Fatal(err)
	}
	second := identity()
	if second == first {
		t.Errorf("identity %s did not change with the size", first)
	}
	tree(t, d, "new 755")
	if err := os.Rename(filepath.Join(d, "new"), name); err != nil {
		t.Fatal(err)
	}
	if third := identity(); third == first || third == second {
		t.Errorf("identity %s did not change with the inode", third)
	}
}

package path

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// makeTree makes files beneath a new directory: "a/" is a directory, "l -> x" a
// link, anything else a file.
func makeTree(t testing.TB, entries ...string) Dir {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, target, link := strings.Cut(e, " -> ")
		at := filepath.Join(base, name)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "BASE", base), at)
		case strings.HasSuffix(e, "/"):
			err = os.MkdirAll(at, 0o755)
		default:
			err = os.WriteFile(at, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Open(base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return Dir{FD: fd, Path: base}
}

func TestResolve(t *testing.T) {
	dir := makeTree(t, "a/f", "out/f", "a/in -> f", "a/up -> ../out/f", "abs -> BASE/out/f", "dl -> out", "dangle -> gone", "dd -> out/gone",
		"deep -> dangle", "dangledir -> out/new/er", "absd -> BASE/out/gone", "loop -> loop", "proc -> /proc/self/environ", "magic -> /proc/self/exe",
		"x (deleted)", "link (deleted) -> a/f", "climb -> gone/../a")
	for _, tt := range []struct {
		text  string
		final Final
		want  string // beneath the directory
		rest  string
		kind  fs.FileMode
		err   error
	}{
		{text: "a/f", want: "/a/f"},
		{text: "./a//f", want: "/a/f"},
		{text: "a/../a/f", want: "/a/f"},
		{text: dir.Path + "/a/f", want: "/a/f"},
		{text: "a", want: "/a", kind: fs.ModeDir},
		{text: "a/", want: "/a", kind: fs.ModeDir},
		{text: "a/in", want: "/a/f"},
		{text: "a/in", final: Itself, want: "/a/in", kind: fs.ModeSymlink},
		{text: "a/up", want: "/out/f"},
		{text: "abs", want: "/out/f"},
		{text: "dl/f", want: "/out/f"},
		{text: "dl", final: Itself, want: "/dl", kind: fs.ModeSymlink},
		{text: "dl/", final: Itself, want: "/out", kind: fs.ModeDir},
		{text: "dl/.", final: Itself, want: "/out", kind: fs.ModeDir},
		{text: "dl/..", final: Itself, want: "", kind: fs.ModeDir},
		{text: "dl/../a/f", want: "/a/f"}, // links first, ".." after
		{text: "new", want: "/new", rest: "new"},
		{text: "new", final: Itself, want: "/new", rest: "new"},
		{text: "new/", want: "/new", rest: "new"},
		{text: "a/new/er", want: "/a/new/er", rest: "new/er"},
		{text: "a/new/er", final: Itself, want: "/a/new/er", rest: "new/er"},
		{text: "dangle", want: "/gone", rest: "gone"},
		{text: "dangle", final: Itself, want: "/dangle", kind: fs.ModeSymlink},
		{text: "dd", want: "/out/gone", rest: "gone"},
		{text: "deep", want: "/gone", rest: "gone"},
		{text: "deep/x", want: "/gone/x", rest: "gone/x"},
		{text: "dangledir/x", want: "/out/new/er/x", rest: "new/er/x"},
		{text: "absd", want: "/out/gone", rest: "gone"},
		{text: "x (deleted)", want: "/x (deleted)"},
		{text: "link (deleted)", want: "/a/f"},
		{text: "gone/../a/f", err: ErrDotDot},
		{text: "dangle/../f", err: ErrDotDot},
		{text: "climb", err: ErrDotDot},
		{text: "", err: ErrEmpty},
		{text: "a\x00b", err: ErrNUL},
		{text: "loop", err: unix.ELOOP},
		{text: "loop/x", err: unix.ELOOP},
		{text: "magic", err: unix.ELOOP},
		{text: "/proc/self/root/etc/passwd", err: unix.ELOOP},
		{text: "/proc/self/cwd/a/f", err: unix.ELOOP},
		{text: "a/f/x", err: unix.ENOTDIR},
		{text: "a/f/", err: unix.ENOTDIR},
		{text: strings.Repeat("n", 256), err: unix.ENAMETOOLONG},
		{text: strings.Repeat("n/", 4096), err: unix.ENAMETOOLONG},
	} {
		f, err := Resolve(dir, tt.text, tt.final)
		if !errors.Is(err, tt.err) {
			t.Errorf("Resolve(%.60q): error %v, want %v", tt.text, err, tt.err)
		}
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("Resolve(%.60q): error %T, want *Error", tt.text, err)
			}
			continue
		}
		if f.Path != dir.Path+tt.want || f.Rest != tt.rest || f.Exists != (tt.rest == "") || f.Exists && f.Type != tt.kind {
			t.Errorf("Resolve(%q, %t) = %s, rest %q, %v, want %s%s, rest %q, %v", tt.text, tt.final, f.Path, f.Rest, f.Type, dir.Path, tt.want, tt.rest, tt.kind)
		}
		if f.Literal != filepath.Join(dir.Path, strings.TrimPrefix(tt.text, dir.Path)) {
			t.Errorf("Resolve(%q).Literal = %s", tt.text, f.Literal)
		}
		p, err := f.OpenParent()
		switch {
		case strings.Contains(f.Rest, "/"): // its parent is absent too
		case err != nil:
			t.Errorf("Resolve(%q).OpenParent: %v", tt.text, err)
		case p.Path != filepath.Dir(f.Path):
			t.Errorf("Resolve(%q).OpenParent = %s, want %s", tt.text, p.Path, filepath.Dir(f.Path))
		}
		p.Close()
		f.Close()
		f.Close()
	}
}

func TestResolveKernelFiles(t *testing.T) {
	dir := makeTree(t, "proc -> /proc/self/environ", "sock/")
	for text, want := range map[string]bool{"proc": true, "/proc/uptime": true, "/sys/kernel": true, "sock": false, "/dev/null": false} {
		f, err := Resolve(dir, text, Follow)
		if err != nil {
			t.Errorf("Resolve(%q): %v", text, err)
			continue
		}
		if f.Kernel != want {
			t.Errorf("Resolve(%q).Kernel = %t, want %t", text, f.Kernel, want)
		}
		f.Close()
	}
}

// TestResolveUnnamed: a file without a name is none, also where a live one
// bears the name that the kernel shows for it.
func TestResolveUnnamed(t *testing.T) {
	dir := makeTree(t, "d/", "d (deleted)/")
	fd, err := unix.Openat(dir.FD, "d", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Unlinkat(dir.FD, "d", unix.AT_REMOVEDIR); err != nil {
		t.Fatal(err)
	}
	if f, err := Resolve(Dir{fd, dir.Path + "/d"}, ".", Follow); !errors.Is(err, ErrUnstable) {
		t.Errorf("a removed directory resolves to %+v, %v, want %v", f, err, ErrUnstable)
	}
}

// TestResolveRace: a name that is exchanged with a link all the time resolves
// to one of the two, and descriptor, path and identity belong together.
func TestResolveRace(t *testing.T) {
	dir := makeTree(t, "in/f", "out/secret", "in/l -> ../out/secret")
	ids := map[string]uint64{}
	for _, name := range []string{"/in/f", "/out/secret"} {
		var st unix.Stat_t
		if err := unix.Stat(dir.Path+name, &st); err != nil {
			t.Fatal(err)
		}
		ids[name] = st.Ino
	}
	ids["/in/l"] = ids["/in/f"] // under its other name
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := unix.Renameat2(dir.FD, "in/f", dir.FD, "in/l", unix.RENAME_EXCHANGE); err != nil {
					t.Errorf("renameat2: %v", err)
					return
				}
			}
		}
	})
	seen := map[string]int{}
	for range 3000 {
		f, err := Resolve(dir, "in/f", Follow)
		if err != nil {
			if !errors.Is(err, ErrUnstable) {
				t.Fatal(err)
			}
			seen["unstable"]++
			continue
		}
		name := strings.TrimPrefix(f.Path, dir.Path)
		seen[name]++
		var st unix.Stat_t
		if err := unix.Fstat(f.FD, &st); err != nil || st.Ino != ids[name] || f.Ino != st.Ino {
			t.Fatalf("resolved to %s, inode %d, descriptor of %d (%v), want %d", name, f.Ino, st.Ino, err, ids[name])
		}
		f.Close()
	}
	close(stop)
	wg.Wait()
	t.Log(seen)
	if seen["/out/secret"] == 0 || seen["/in/f"]+seen["/in/l"] == 0 {
		t.Errorf("saw %v: the attacker is too weak", seen)
	}
}

func TestStream(t *testing.T) {
	for text, want := range map[string]int{
		"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2, "/dev/fd/0": 0, "/dev/fd/2": 2, "/proc/self/fd/1": 1, "//dev/./fd//1": 1,
		"/dev/fd/3": -1, "/dev/fd/00": -1, "/dev/fd/": -1, "dev/stdin": -1, "/dev/stdin/": -1, "/x/../dev/stdin": -1, "/proc/1/fd/0": -1, "-": -1, "": -1,
		"/dev/fd/0/x": -1, "/dev/stdinx": -1,
	} {
		n, ok := Stream(text)
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("Stream(%q) = %d, %t, want %d", text, n, ok, want)
		}
	}
}

func TestClean(t *testing.T) {
	for _, text := range []string{"", ".", "..", "a", "a/", "./a", "a//b", "a/../b", "../../../x", "/x/y", "/x/../..", "//", "a/./../b/..", "...", "/ä/../b"} {
		if got, want := Clean("/r/w", text), filepath.Join("/r/w", text); got != want && !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "/") && got != filepath.Clean(text) {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	dir := makeTree(t, "d/a", "d/b", "d/c/")
	f, err := Resolve(dir, "d", Follow)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if names, err := f.Names(3); err != nil || len(names) != 3 {
		t.Errorf("Names(3) = %q, %v", names, err)
	}
	if _, err := f.Names(2); !errors.Is(err, ErrTooMany) {
		t.Errorf("Names(2): %v, want %v", err, ErrTooMany)
	}
	if !f.Has("a") || f.Has("x") || f.Has("c/x") {
		t.Error("Has is off")
	}
	if err := f.CanList(); err != nil {
		t.Error(err)
	}
}

func TestCanonical(t *testing.T) {
	dir := makeTree(t, "a/f", "l -> a", "loop -> loop")
	for name, want := range map[string]string{"/a/f": "/a/f", "/l/f": "/a/f", "/l/gone/x": "/a/gone/x", "/gone": "/gone", "/loop/x": "/loop/x", "/a/f/x": "/a/f/x"} {
		if got := Canonical(dir.Path + name); got != dir.Path+want {
			t.Errorf("Canonical(%s) = %s, want %s", name, got, want)
		}
	}
	if got := Canonical("/no/such/place"); got != "/no/such/place" {
		t.Errorf("Canonical(/no/such/place) = %s", got)
	}
}

// FuzzResolve: whatever the spelling, what is found is canonical, open, and
// the same as what the kernel finds by the plain name.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"a/f", "a/../a/in", "dl/../x", "dangle", "new/x", "../..", "a\x00", "", "/proc/self/fd/0", "dl//./f/", "loop", "-", "~", "a/f (deleted)"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	dir := makeTree(f, "a/f", "out/f", "a/in -> f", "dl -> out", "dangle -> out/gone", "loop -> loop", "up -> ../..")
	f.Fuzz(func(t *testing.T, text string, itself bool) {
		r, err := Resolve(dir, text, Final(itself))
		if err != nil {
			return
		}
		defer r.Close()
		if r.Path != filepath.Clean(r.Path) || !strings.HasPrefix(r.Path, "/") {
			t.Errorf("Resolve(%q) = %q, which is not clean", text, r.Path)
		}
		for name := range strings.SplitSeq(r.Rest, "/") {
			if name == ".." || name == "." {
				t.Errorf("Resolve(%q): rest %q", text, r.Rest)
			}
		}
		var st unix.Stat_t
		want := unix.Fstatat(dir.FD, text, &st, 0)
		if itself && !strings.HasSuffix(text, "/") {
			want = unix.Fstatat(dir.FD, text, &st, unix.AT_SYMLINK_NOFOLLOW)
		}
		if (want == nil) != r.Exists {
			t.Errorf("Resolve(%q): exists %t, stat says %v", text, r.Exists, want)
		} else if r.Exists && (st.Ino != r.Ino || st.Dev != r.Dev) {
			t.Errorf("Resolve(%q) is another file (%s) than stat finds", text, r.Path)
		}
	})
}

//go:build linux && (amd64 || arm64)

package cage

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/guard"
)

// project plants what privateOps work on.
func project(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"f", ".envrc", ".git/config", ".git/hooks/pre-commit", "ci/flows/build", "sub/x", "real/target", "real/flows/x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, ".envrc"), filepath.Join(dir, ".tools")); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"out": "real/target", "way": dir + "/real"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// writingCage is the cage of a call by root scope that may write.
func (st *stage) writingCage() *guard.Cage {
	c := st.readonlyCage()
	for i := range c.Rules {
		if c.Rules[i].Path == st.Dir {
			c.Rules[i].Rights |= writeRights
		}
	}
	// Landlock is to be out of the way outside, so that the mounts are seen.
	c.Rules = append(c.Rules, guard.Rule{Path: st.Outside, Handle: -1, Rights: readTree})
	c.NoAttr, c.Private = false, true
	c.Protect = []string{".envrc", ".tools", ".git", "ci/flows", "out", "way/flows", "absent", "absent/too", "f/not-a-directory"}
	c.Caps = []int{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER}
	return c
}

func mounts(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPrivate writes in a private view, at its protected names and outside,
// and looks at what is left of it.
func TestPrivate(t *testing.T) {
	need(t, guard.Kernel{Landlock: 3, Seccomp: true, Mounts: true})
	var ops []string
	for i := range privateOps {
		ops = append(ops, "here-"+privateOps[i].name)
	}
	tests := []struct {
		name   string
		change func(*guard.Cage, *stage)
		want   result // what differs
	}{
		{"relative names", func(*guard.Cage, *stage) {}, nil},
		{"absolute names", func(c *guard.Cage, st *stage) {
			for i, name := range c.Protect {
				c.Protect[i] = st.Dir + "/" + name
			}
		}, nil},
		{"longest names first, some twice", func(c *guard.Cage, _ *stage) {
			c.Protect = append([]string{".git/hooks/pre-commit", ".git/hooks", "ci/flows/build", ".envrc"}, c.Protect...)
		}, nil},
		{"a second rule beneath the first", func(c *guard.Cage, st *stage) {
			c.Rules = append(c.Rules, guard.Rule{Path: st.Dir + "/sub", Handle: -1, Rights: readTree | writeRights})
		}, nil},
		{"without landlock", func(_ *guard.Cage, st *stage) { st.Kernel.Landlock = 0 }, nil},
		{"without seccomp", func(_ *guard.Cage, st *stage) { st.Kernel.Seccomp = false }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := newStage(t, 0)
			st.Ops = ops
			project(t, st.Dir)
			st.Cage = st.writingCage()
			tt.change(st.Cage, st)
			outside, protected, table := snapshot(t, st.Outside), snapshot(t, st.Dir+"/.git"), mounts(t)
			got := try(t, st.exe, 0, &st.spec, st.tty)
			for _, op := range privateOps {
				want, ok := tt.want[op.name]
				if !ok {
					want = op.want
				}
				if got := got["here-"+op.name]; got != want {
					t.Errorf("%s: %v, want %v", op.name, got, want)
				}
			}
			compare(t, outside, snapshot(t, st.Outside))
			compare(t, protected, snapshot(t, st.Dir+"/.git"))
			if got := mounts(t); got != table {
				t.Errorf("mounts are\n%s\nand were\n%s", got, table)
			}
			if _, err := os.Stat(st.Dir + "/new"); err != nil {
				t.Errorf("what the child made is not in the real tree: %v", err)
			}
			for _, name := range []string{"absent", "x"} {
				if _, err := os.Lstat(filepath.Join(st.Dir, name)); err == nil {
					t.Errorf("%s was left behind", name)
				}
			}
		})
	}
	t.Run("without a view all of it is possible", func(t *testing.T) {
		for i := range privateOps {
			op := &privateOps[i]
			if op.want == 0 || op.want == unix.EPERM {
				continue
			}
			st := newStage(t, 0)
			st.Ops = []string{"here-create", "here-by-path", "here-" + op.name}
			project(t, st.Dir)
			if got := try(t, st.exe, 0, &st.spec, st.tty)["here-"+op.name]; got != 0 {
				t.Errorf("%s without a cage: %v", op.name, got)
			}
		}
	})
}

// TestPrivateShared makes a view where every mount is shared with others, as
// systemd has it: nothing of the view may reach them.
func TestPrivateShared(t *testing.T) {
	need(t, guard.Kernel{Landlock: 1, Seccomp: true, Mounts: true})
	runtime.LockOSThread() // never unlocked: the thread and its namespace end with the test
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		t.Fatal(err)
	}
	table := func() string {
		data, err := os.ReadFile("/proc/thread-self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := table()
	if !strings.Contains(before, " shared:") {
		t.Fatalf("nothing is shared:\n%s", before)
	}
	st := newStage(t, 0)
	st.Ops = []string{"here-create", "here-write-protected", "here-create-outside"}
	project(t, st.Dir)
	st.Cage = st.writingCage()
	got := try(t, st.exe, 0, &st.spec, st.tty)
	want := result{"here-create": 0, "here-write-protected": unix.EROFS, "here-create-outside": unix.EROFS}
	for op, errno := range want {
		if got[op] != errno {
			t.Errorf("%s: %v, want %v", op, got[op], errno)
		}
	}
	if after := table(); after != before {
		t.Errorf("mounts outside are\n%s\nand were\n%s", after, before)
	}
}

// TestPrivateWorkdir works in a directory beneath the root that lies on the
// way to a protected name: it must be entered through what is mounted on it.
func TestPrivateWorkdir(t *testing.T) {
	need(t, guard.Kernel{Landlock: 1, Seccomp: true, Mounts: true})
	dir := openDir(t)
	project(t, dir)
	c := &guard.Cage{
		Rules: append(Profiles([]string{"base", "programs"}, ""),
			guard.Rule{Path: dir, Handle: -1, Rights: readTree | writeRights}),
		Private: true,
		Protect: []string{dir + "/ci/flows"},
	}
	out, err := commandErr(t, c, dir+"/ci", "touch", "flows/x")
	if err == nil || !strings.Contains(out, "Read-only file system") {
		t.Errorf("a protected name from a directory on the way: %q, %v, want a read-only file system", out, err)
	}
	if out := command(t, c, dir+"/ci", "touch", "y"); out != "" {
		t.Errorf("an ordinary name: %q", out)
	}
}

// TestPrivateRoot writes everywhere, which nothing can be bound over.
func TestPrivateRoot(t *testing.T) {
	need(t, guard.Kernel{Landlock: 1, Seccomp: true, Mounts: true})
	dir := openDir(t)
	project(t, dir)
	c := &guard.Cage{
		Rules:   []guard.Rule{{Path: "/", Handle: -1, Rights: readTree | writeRights | guard.Execute}},
		Private: true,
		Protect: []string{dir + "/.envrc"},
	}
	if out := command(t, c, dir, "touch", dir+"/new"); out != "" {
		t.Errorf("an ordinary name: %q", out)
	}
	if out, err := commandErr(t, c, dir, "touch", ".envrc"); err == nil || !strings.Contains(out, "Read-only file system") {
		t.Errorf("a protected name: %q, %v, want a read-only file system", out, err)
	}
}

// TestPrivateRefuses are the views that cannot be made as they were judged.
func TestPrivateRefuses(t *testing.T) {
	need(t, guard.Kernel{Landlock: 1, Seccomp: true, Mounts: true})
	base := openDir(t)
	writable := func(dir string) []guard.Rule {
		return []guard.Rule{{Path: dir, Handle: 0, Rights: readTree | writeRights}}
	}
	tests := []struct {
		name string
		// before runs when the handle is open.
		before  func(dir string) error
		protect []string
		want    string
	}{
		{"nothing is amiss", func(string) error { return nil }, nil, ""},
		{"root was moved away", func(dir string) error { return os.Rename(dir, dir+"-gone") }, nil, ""},
		{"root was removed", os.Remove, nil, "no such file or directory"},
		{"a name with dots", func(string) error { return nil }, []string{"a/../b"}, "invalid argument"},
		{"an empty name", func(string) error { return nil }, []string{""}, "invalid argument"},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(base, fmt.Sprint(i))
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			if err := tt.before(dir); err != nil {
				t.Fatal(err)
			}
			c := &guard.Cage{Rules: writable(dir), Private: true, Protect: tt.protect}
			err = onThread(func() error { return Confine(c, []int{fd}, fd) })
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestOpenAgain sees another file in the place of the one that was judged.
func TestOpenAgain(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir+"/a", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	id, _, err := identify(fd)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"a": nil, "b": errMoved, "l": errMoved, "n": syscall.ENOENT, "l/": syscall.ELOOP} {
		got, err := openAgain(dir+"/"+name, id)
		if err == nil {
			unix.Close(got)
		}
		if want == nil && err != nil || want != nil && (err == nil || !strings.Contains(err.Error(), want.Error())) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
}

package guard

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/argv"
)

// TestReportedCases are faults that somebody met in public in a similar
// product, as far as an argv shows them. Each has a twin that is allowed.
func TestReportedCases(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files string // entries of newStage, split at commas
		line  string
		mode  Mode
		with  func(st *stage, req *Request)
		want  string // codes
		says  string // within the first message
	}{
		{name: "A01 sibling with the same prefix", files: "w-evil/loot", line: "cat R/w-evil/loot", want: "path.foreign_temp", says: "outside the root R/w"},
		{name: "A01 relative", files: "w-evil/loot", line: "cat ../w-evil/loot", mode: ReadWrite, want: "path.foreign_temp", says: "(R/w-evil/loot), outside the root R/w"},
		{name: "A01 write", files: "w-evil/loot", line: "tee ../w-evil/loot", mode: ReadWrite, want: "path.foreign_temp", says: "tee writes"},
		{name: "A01 twin", files: "w/loot", line: "cat R/w/loot"},
		{name: "A02 link to a file outside", files: "w/leak -> /etc/passwd", line: "cat leak", want: "path.outside_root", says: "leak (/etc/passwd), outside"},
		{name: "A02 link to a directory outside", files: "w/d -> /etc", line: "cat d/passwd", want: "path.outside_root"},
		{name: "A02 twin", files: "w/f,w/l -> f", line: "cat l"},
		{name: "A05 write through a link", files: "victim,w/a.txt -> ../victim", line: "tee a.txt", mode: ReadWrite, want: "path.foreign_temp"},
		{name: "A05 dangling", files: "w/a.txt -> ../victim", line: "tee a.txt", mode: ReadWrite, want: "path.foreign_temp"},
		{name: "A05 twin", files: "w/b,w/a.txt -> b", line: "tee a.txt", mode: ReadWrite},
		{name: "A05 twin, dangling inside", files: "w/a.txt -> b", line: "tee a.txt", mode: ReadWrite},
		{name: "A07 the target counts", files: "out,w/ok,w/l -> ../out", line: "cat l", want: "path.foreign_temp"},
		{name: "A08 absent parents", line: "tee a/b/out.txt", mode: ReadWrite},
		{name: "A08 through a link", files: "out/,w/a -> ../out", line: "tee a/b/out.txt", mode: ReadWrite, want: "path.foreign_temp"},
		{name: "A08 upwards behind an absent name", line: "tee gone/../../x", mode: ReadWrite, want: "path.unresolvable"},
		{name: "A09 hard link, read", files: "out,w/s => R/out", line: "cat s"},
		{name: "A10 hard link, written in place", files: "log,w/log => R/log", line: "tee log", mode: ReadWrite, want: "path.hard_link"},
		{name: "A10 touched", files: "log,w/log => R/log", line: "touch log", mode: ReadWrite, want: "path.hard_link"},
		{name: "A10 twin: replaced", files: "log,w/log => R/log,w/n", line: "mv n log", mode: ReadWrite},
		{name: "A10 twin: removed", files: "log,w/log => R/log", line: "rm log", mode: ReadWrite},
		{name: "A11 a second name for what is only read", files: "ro/a", line: "cp -l R/ro/a a", mode: ReadWrite, with: grants("R/ro", argv.Read), want: "path.foreign_temp", says: "cp links"},
		{name: "A11 by a link", files: "ro/a,w/l -> R/ro/a", line: "cp -l l a", mode: ReadWrite, with: grants("R/ro", argv.Read), want: "path.foreign_temp"},
		{name: "A11 moved", files: "ro/a", line: "mv R/ro/a a", mode: ReadWrite, with: grants("R/ro", argv.Read), want: "path.foreign_temp"},
		{name: "A11 twin: copied", files: "ro/a", line: "cp R/ro/a a", mode: ReadWrite, with: grants("R/ro", argv.Read)},
		{name: "A11 twin: inside", files: "w/a", line: "cp -l a b", mode: ReadWrite},
		{name: "A15 --git-dir", files: "out/.git/", line: "git --git-dir=R/out/.git --work-tree R/out status", want: "path.outside_root path.foreign_temp"},
		{name: "A15 sort -T", files: "out/,w/f", line: "sort -T R/out f", mode: ReadWrite, want: "path.foreign_temp", says: "(-T)"},
		{name: "A15 sort -T attached", files: "out/,w/f", line: "sort -TR/out f", mode: ReadWrite, want: "path.foreign_temp"},
		{name: "A15 sort -T joined", files: "out/,w/f", line: "sort --temporary-directory=R/out f", mode: ReadWrite, want: "path.foreign_temp"},
		{name: "A15 twin", files: "w/t/,w/f", line: "sort -T t f", mode: ReadWrite},
		{name: "A19 capitals of an absent name", line: "tee R/home/.NETRC", mode: ReadWrite, with: grants("R/home", anyUse), want: "path.credential"},
		{name: "A19 capitals of a denied name", line: "tee PRIV/x", mode: ReadWrite, with: denies("R/w/priv"), want: "path.denied"},
		{name: "A20 denied by a link's name", files: "w/dot/zshrc,w/.zshrc -> dot/zshrc", line: "cat .zshrc", with: denies("R/w/.zshrc"), want: "path.denied", says: "denied"},
		{name: "A20 denied, by the target", files: "w/dot/zshrc,w/.zshrc -> dot/zshrc", line: "cat dot/zshrc", with: denies("R/w/.zshrc"), want: "path.denied"},
		{name: "A20 a linked directory above", files: "w/real/f,w/l -> real", line: "cat real/f", with: denies("R/w/l/f"), want: "path.denied"},
		{name: "A20 the link itself goes", files: "w/real/f,w/l -> real", line: "rm l", mode: ReadWrite, with: denies("R/w/l/f"), want: "path.denied"},
		{name: "A20 twin", files: "w/dot/zshrc,w/dot/y,w/.zshrc -> dot/zshrc", line: "cat dot/y", with: denies("R/w/.zshrc")},
		{name: "A21 a link into what is denied", files: "w/priv/s,w/pub/link -> ../priv/s", line: "cat pub/link", with: denies("R/w/priv"), want: "path.denied"},
		{name: "A21 another name of the file", files: "w/priv/s,w/s => R/w/priv/s", line: "cat s", with: denies("R/w/priv/s"), want: "path.denied"},
		{name: "A21 what is above goes", files: "w/d/priv/s", line: "rm -r d", mode: ReadWrite, with: denies("R/w/d/priv"), want: "path.denied"},
		{name: "A21 all beneath is read", files: "w/d/priv/s", line: "grep -r x d", with: denies("R/w/d/priv"), want: "path.denied"},
		{name: "A21 a grant does not help", files: "o/s", line: "cat R/o/s", with: func(st *stage, req *Request) {
			grants("R/o/s", argv.Read)(st, req)
			denies("R/o")(st, req)
		}, want: "path.denied"},
		{name: "A21 twin", files: "w/priv/s,w/pub/f", line: "cat pub/f", with: denies("R/w/priv")},
		{name: "A24 from the working directory", files: "w/sub/f", line: "cat f", with: workdir("sub")},
		{name: "A24 not from the root", files: "w/sub/f,w/g", line: "cat ../g", with: workdir("sub")},
		{name: "A24 nor above it", files: "w/sub/f,g", line: "cat ../../g", with: workdir("sub"), want: "path.foreign_temp"},
		{name: "A25 an absolute path inside", files: "w/f", line: "cat R/w/f"},
		{name: "A28 a file URL is the path in it", line: "cat file:///etc/passwd", want: "path.outside_root"},
		{name: "A28 twin", files: "w/f", line: "cat file:f"},
		{name: "A30 a nested directory", files: "w/.wt/a/src/f.go", line: "tee src/f.go", mode: ReadWrite, with: workdir(".wt/a")},
		{name: "A32 a dollar is a byte", line: "cat $HOME/.profile"},
		{name: "A32 a tilde is one too", line: "cat ~/.ssh/id", want: "path.credential"}, // "w/~/.ssh" would be one
		{name: "A35 two dots in a name", files: "w/a..b", line: "cat a..b"},
		{name: "A35 dots inside", files: "w/src/,w/lib/", line: "ls src/../lib"},
		{name: "A35 a range of revisions", line: "git log main..dev"},
		{name: "A35 a revision that leads out", line: "git log ../x", want: "path.foreign_temp"},
		{name: "A35 glued to a letter", files: "w/f", line: "sort -o../escape f", mode: ReadWrite, want: "path.foreign_temp"},
		{name: "A35 glued to a word", files: "w/f", line: "sort --output=../secret f", mode: ReadWrite, want: "path.foreign_temp"},
		{name: "A39 another root", line: "cat /proc/self/root/etc/passwd", want: "path.unresolvable"},
		{name: "A39 another way here", files: "w/f", line: "cat /proc/self/cwd/f", want: "path.unresolvable"},
		{name: "A39 environment", line: "cat /proc/self/environ", want: "path.raw_device"},
		{name: "A39 by a link", files: "w/l -> /proc/self/environ", line: "cat l", want: "path.raw_device"},
		{name: "A39 another process", line: "cat /proc/1/environ", want: "path.raw_device"},
		{name: "A39 granted all the same", line: "cat /proc/1/environ", with: grants("/proc", anyUse), want: "path.raw_device"},
		{name: "A39 a further descriptor", line: "cat /proc/self/fd/3 /dev/fd/3", want: "path.unresolvable path.unresolvable"},
		{name: "A39 memory", line: "cat /dev/mem", want: "path.raw_device"},
		{name: "A39 twin: streams", line: "cat /dev/stdin /dev/fd/0 /proc/self/fd/0 -"},
		{name: "A39 twin: written in a read-only call", line: "sort -o /dev/stdout /dev/null"},
		{name: "A39 null is not to be removed", line: "rm /dev/null", mode: ReadWrite, want: "path.raw_device"},
		{name: "A40 a star is a byte", files: "w/*", line: "cat *"},
		{name: "A40 a dash name behind dashes", files: "w/-rf", line: "rm -- -rf", mode: ReadWrite},
		{name: "A41 a list of files, caged", files: "w/list", line: "wc --files0-from=list"},
		{name: "A41 a list of files, not caged", files: "w/list", line: "wc --files0-from=list", with: kernel(Kernel{}), want: "path.unconfined"},
		{name: "A41 sort", files: "w/list", line: "sort --files0-from=list", with: cageOff, want: "path.unconfined"},

		{name: "mode: a file is written", files: "w/in", line: "sort -o out in", want: "mode.readonly", says: "sort writes out (-o), and this call is read-only"},
		{name: "mode: abbreviated", files: "w/in", line: "sort in --outp=out", want: "mode.readonly"},
		{name: "mode: in a cluster", files: "w/in", line: "sort -uo out in", want: "mode.readonly"},
		{name: "mode: cp", files: "w/a", line: "cp a b", want: "mode.readonly"},
		{name: "mode: cp, twin", files: "w/a", line: "cp a b", mode: ReadWrite},
		{name: "mode: find -delete", line: "find . -delete", want: "mode.readonly"},
		{name: "mode: find -fprint", line: "find . -fprint x", want: "mode.readonly"},
		{name: "a program", line: "find . -exec rm {} ;", mode: ReadWrite, want: "argv.program", says: "find would run"},
		{name: "a program that compresses", files: "w/f", line: "sort --compress-program ./x f", mode: ReadWrite, want: "argv.program"},
		{name: "a configured program", line: "git -c core.pager=./x log", want: "argv.program"},
		{name: "a configured colour", line: "git -c color.ui=always log"},
		{name: "all are collected, in order", files: "w/in", line: "cp ../a R/home/.ssh/id /proc/1/mem w", mode: ReadWrite, want: "path.foreign_temp path.credential path.raw_device"},
		{name: "credentials by a grant", files: "home/.ssh/id", line: "cat R/home/.ssh/id", with: grants("R/home", anyUse), want: "path.credential", says: "no grant"},
		{name: "credentials beneath", files: "home/.ssh/id", line: "grep -r x R/home", with: grants("R/home", anyUse), want: "path.credential"},
		{name: "no credentials beneath", line: "grep -r x R/home", with: grants("R/home", anyUse)},
		{name: "a home goes", line: "rm -rf R/home", mode: ReadWrite, with: grants("R/home", anyUse), want: "path.trust_root"},
		{name: "what is above a home goes", line: "rm -rf R/", mode: ReadWrite, with: grants("R", anyUse), want: "path.trust_root"},
		{name: "a shell's file", line: "tee R/home/.bashrc", mode: ReadWrite, with: grants("R/home", anyUse), want: "path.trust_file"},
		{name: "a shell's file, read", files: "home/.bashrc", line: "cat R/home/.bashrc", with: grants("R/home", anyUse)},
		{name: "a hook", line: "tee .git/hooks/pre-commit", mode: ReadWrite, want: "path.trust_file"},
		{name: "a hook by a link", files: "w/.git/hooks/,w/l -> .git/hooks", line: "tee l/x", mode: ReadWrite, want: "path.trust_file"},
		{name: "a protected name that is a link", files: "w/plain,w/.envrc -> plain", line: "tee .envrc", mode: ReadWrite, want: "path.trust_file"},
		{name: "a hook, read", files: "w/.git/hooks/x", line: "cat .git/hooks/x"},
		{name: "a name from a source", files: "w/sub/.envrc", line: "cp sub/.envrc .", mode: ReadWrite, want: "path.trust_file"},
		{name: "a name from a source, a link out", files: "w/sub/x,out,w/d/x -> ../../out", line: "cp sub/x d", mode: ReadWrite, want: "path.foreign_temp"},
		{name: "a name from a source, twin", files: "w/sub/x,w/d/", line: "cp sub/x d", mode: ReadWrite},
		{name: "a repository goes", files: "w/d/.git/", line: "rm -rf d", mode: ReadWrite, want: "path.trust_file", says: "/d/.git beneath it"},
		{name: "a tree is copied over it, caged", files: "w/e/x,w/.git/", line: "cp -r e/. .", mode: ReadWrite},
		{name: "a tree is copied over it, not held", files: "w/e/x,w/.git/", line: "cp -r e/. .", mode: ReadWrite, with: kernel(Kernel{Landlock: 7, Seccomp: true}), want: "path.unconfined"},
		{name: "a tree is copied beside it", files: "w/e/x,w/.git/", line: "cp -r e new", mode: ReadWrite, with: kernel(Kernel{Landlock: 7, Seccomp: true})},
		{name: "the root goes", line: "rm -d R/w", mode: ReadWrite, want: "path.outside_root"},
		{name: "the root is emptied", files: "w/a", line: "rm -rf R/w", mode: ReadWrite},
		{name: "a link out goes", files: "w/l -> /etc", line: "rm l", mode: ReadWrite},
		{name: "with a slash it is followed", files: "w/l -> /etc", line: "rm -r l/", mode: ReadWrite, want: "path.system_integrity"},
		{name: "a link out is moved", files: "w/l -> /etc", line: "mv l m", mode: ReadWrite},
		{name: "moved onto a link out", files: "w/a,w/l -> ../out", line: "mv a l", mode: ReadWrite},
		{name: "a loop", files: "w/l -> l", line: "cat l", want: "path.unresolvable"},
		{name: "a long name", line: "cat " + strings.Repeat("n", 300), want: "path.unresolvable"},
		{name: "wrap's own", files: "own/audit", line: "tee R/own/audit", mode: ReadWrite, with: func(st *stage, req *Request) {
			req.Policy.Own = []string{st.R + "/own"}
			grants("R/own", anyUse)(st, req)
		}, want: "path.system_integrity"},
		{name: "the call's own temporary directory", line: "sort -o R/tmp/x /dev/null", with: func(st *stage, req *Request) { req.Tmp = st.R + "/tmp" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var entries []string
			if tt.files != "" {
				entries = strings.Split(tt.files, ",")
			}
			st := newStage(t, entries...)
			req := st.request(words(tt.line)...)
			req.Mode = tt.mode
			if tt.with != nil {
				tt.with(st, req)
			}
			_, refs := decide(t, req)
			want := tt.want
			if !strings.HasPrefix(st.R, "/tmp/") {
				want = strings.ReplaceAll(want, "foreign_temp", "outside_root")
			}
			if got := codes(refs); got != want {
				t.Fatalf("%q: refused by %q, want %q (%v)", tt.line, got, want, refs)
			}
			if says := strings.ReplaceAll(tt.says, "R/", st.R+"/"); len(refs) > 0 && !strings.Contains(refs[0].Message, says) {
				t.Errorf("%q: %q does not say %q", tt.line, refs[0].Message, says)
			}
		})
	}
}

func grants(p string, faces argv.Face) func(*stage, *Request) {
	return func(st *stage, req *Request) {
		req.Policy.Grants = append(req.Policy.Grants, Grant{Path: st.path(p), Faces: faces, Source: "--rw"})
	}
}

func denies(p string) func(*stage, *Request) {
	return func(st *stage, req *Request) { req.Policy.Deny = append(req.Policy.Deny, st.path(p)) }
}

func workdir(name string) func(*stage, *Request) {
	return func(st *stage, req *Request) {
		st.t.Helper()
		w, err := req.Root.Workdir(name)
		if err != nil {
			st.t.Fatal(err)
		}
		st.t.Cleanup(func() { w.Close() })
		req.Workdir = w
	}
}

func kernel(k Kernel) func(*stage, *Request) {
	return func(_ *stage, req *Request) { req.Kernel = k }
}

func cageOff(_ *stage, req *Request) { req.Cage = CageOff }

// TestHardLinkIsNoted is the other half of A09.
func TestHardLinkIsNoted(t *testing.T) {
	st := newStage(t, "out", "w/s => R/out", "w/one")
	d, refs := decide(t, st.request("cat", "s"))
	if len(refs) > 0 || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "2 names") || d.Operands[0].Nlink != 2 {
		t.Errorf("cat s: %v, notes %q, operands %+v", refs, d.Notes, d.Operands)
	}
	if d, _ := decide(t, st.request("cat", "one")); len(d.Notes) != 0 {
		t.Errorf("cat one: notes %q", d.Notes)
	}
}

// TestWorkdir has the rows A04, A25, A26 and A27.
func TestWorkdir(t *testing.T) {
	st := newStage(t, "w-evil/", ".ssh/", "w/sub/", "w/a/", "w/file", "other/", "w/x -> ../other", "w/in -> sub")
	r := st.root("R/w")
	for _, tt := range []struct {
		name string
		want string // beneath the root, "" for an error
		code Code   // "" for one that is no refusal
	}{
		{"sub", "/sub", ""},
		{"in", "/sub", ""},
		{".", "", ""},
		{"R/w/sub", "/sub", ""},
		{"a/../sub", "/sub", ""},
		{"R/w-evil", "!", CodeOutsideRoot},
		{"x", "!", CodeOutsideRoot},
		{"../.ssh", "!", CodeOutsideRoot},
		{"..", "!", CodeOutsideRoot},
		{"a/../../..", "!", CodeOutsideRoot},
		{"../gone", "!", CodeOutsideRoot},
		{"/", "!", CodeOutsideRoot},
		{"gone", "!", ""},
		{"file", "!", ""},
		{"", "!", ""},
	} {
		w, err := r.Workdir(st.path(tt.name))
		if tt.want == "!" {
			ref, refused := errors.AsType[*Refusal](err)
			if err == nil || refused != (tt.code != "") || refused && (ref.Code != tt.code || !strings.Contains(ref.Message, "outside the root")) {
				t.Errorf("Workdir(%q): %v, want %q", tt.name, err, tt.code)
			}
			continue
		}
		if err != nil || w.Path() != st.R+"/w"+tt.want {
			t.Errorf("Workdir(%q) = %v, %v, want %s", tt.name, w, err, tt.want)
			continue
		}
		w.Close()
	}
	if _, err := r.Workdir("gone"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Workdir(gone): %v, want ENOENT", err)
	}
}

// TestWorkdirNotEnterable is A29: it needs a user whom modes stop.
func TestWorkdirNotEnterable(t *testing.T) {
	st := newStage(t, "w/x/", "w/y/")
	if err := os.Chmod(st.R+"/w/x", 0); err != nil {
		t.Fatal(err)
	}
	for p := st.R; p != "/tmp" && p != "/"; p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			break
		}
	}
	as(t, func() {
		r, err := OpenRoot(st.R+"/w", RootOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		defer r.Close()
		_, err = r.Workdir("x")
		if _, refused := errors.AsType[*Refusal](err); refused || !errors.Is(err, unix.EACCES) {
			t.Errorf("Workdir(x): %v, want EACCES and no refusal", err)
		}
		if w, err := r.Workdir("y"); err != nil {
			t.Errorf("Workdir(y): %v", err)
		} else {
			w.Close()
		}
		if _, err := OpenRoot(st.R+"/w/x", RootOptions{}); !errors.Is(err, unix.EACCES) {
			t.Errorf("OpenRoot of a directory that cannot be read: %v, want EACCES", err)
		}
	})
}

// as runs f as a user whom file modes stop.
func as(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread goes
		// The raw call changes this thread alone.
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
			t.Errorf("setresuid: %v", errno)
			return
		}
		f()
	}()
	<-done
}

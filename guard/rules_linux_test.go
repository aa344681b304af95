package guard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/argv"
)

// String names the rights in the short form of the tests' tables.
func (r Right) String() string {
	var parts []string
	for i, name := range [...]string{"X", "W", "R", "D", "RD", "RF", "MC", "MD", "MR", "MK", "MF", "MB", "MS", "RE", "T", "IO"} {
		if r&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	return strings.Join(parts, "+")
}

// rules renders the rules with a handle, sorted, by paths relative to R, and
// checks that each handle is what its path says.
func rules(t *testing.T, st *stage, d *Decision) string {
	t.Helper()
	fds := d.Handles()
	var out []string
	for _, r := range d.Cage.Rules {
		if r.Handle < 0 {
			continue
		}
		var byFD, byName unix.Stat_t
		if unix.Fstat(fds[r.Handle], &byFD) != nil || unix.Stat(r.Path, &byName) != nil || byFD.Ino != byName.Ino || byFD.Dev != byName.Dev {
			t.Errorf("rule for %s: its handle is another file", r.Path)
		}
		out = append(out, strings.TrimPrefix(strings.TrimPrefix(r.Path, st.R), "/")+" "+r.Rights.String())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// TestCallRules: what each kind of use gives the tool, and nothing more.
func TestCallRules(t *testing.T) {
	const move = "RD+RF+MD+MR+MK+MF+MS+RE"
	for _, tt := range []struct {
		line  string
		rules string
		flags string // of the cage, but for a whole writing one: attr, private, protect
	}{
		{"cat a", "w/a R", "noattr"},
		{"cat a a ./a", "w/a R", "noattr"},
		{"cat gone", "", "noattr"},
		{"cat l", "w/a R", "noattr"},
		{"ls", "w D", "noattr"},
		{"ls d a", "w/a R, w/d D", "noattr"},
		{"grep -r x d", "w/d R+D", "noattr"},
		{"grep -r x", "w R+D", "noattr"},
		{"sort -o a a", "w/a W+R+T", "noattr"},
		{"sort -o new a", "w W+MR+T, w/a R", "noattr"},
		{"sort -o d/new a", "w/a R, w/d W+MR+T", "noattr"},
		{"sort -T d a", "w/a R, w/d W+R+D+RF+MD+MR+MK+MF+MS+T", "noattr"},
		{"tee a", "w/a W+T", "noattr"},
		{"tee l", "w/a W+T", "noattr"},
		{"tee gone/new", "", "noattr"},
		{"cp a d", "w/a R, w/d W+MR+T", "noattr"},
		{"cp a d/b", "w/a R, w/d/b W+T", "noattr"},
		{"cp --remove-destination a d/b", "w/a R, w/d W+R+D+RF+MR+T, w/d/b W+T", "noattr"},
		{"cp -s a new", "w MS, w/a R", "noattr"},
		{"cp -l a d", "w " + move + ", w/a R, w/d " + move, "noattr"},
		{"cp -p a new", "w W+MR+T, w/a R", "private"},
		{"mv a d", "w W+R+D+" + move + "+T, w/a R, w/d W+R+D+" + move + "+T", "noattr"},
		{"mv a new", "w W+R+D+" + move + "+T, w/a R", "noattr"},
		{"rm a", "w RD+RF", "noattr"},
		{"rm l", "w RD+RF", "noattr"},
		{"rm -r d", "w RD+RF, w/d D+RD+RF", "noattr"},
		{"find d -delete", "w RD+RF, w/d R+D+RD+RF", "noattr"},
		{"mkdir d/x", "w/d MD", "noattr"},
		{"mkdir -p d/x/y/z", "w/d MD", "noattr"},
		{"touch a", "w/a W+T", "private"},
		{"touch new", "w W+MR+T", "private"},
		{"touch -c d", "w/d MK", "private"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			st := newStage(t, "w/a", "w/d/b", "w/l -> a")
			req := st.request(words(tt.line)...)
			d, refs := decide(t, req)
			if len(refs) > 0 {
				t.Fatal(refs)
			}
			if d.Cage.Scope != ScopeCall || !Whole(d.Missing) {
				t.Errorf("scope %d, missing %q", d.Cage.Scope, d.Missing)
			}
			if got := rules(t, st, d); got != tt.rules {
				t.Errorf("rules\n got %s\nwant %s", got, tt.rules)
			}
			flags := ""
			if d.Cage.NoAttr {
				flags += "noattr"
			}
			if d.Cage.Private {
				flags += "private"
			}
			if flags != tt.flags {
				t.Errorf("cage is %q, want %q", flags, tt.flags)
			}
		})
	}
}

// TestReadOnlyCage: a read-only call changes nothing but its own temporary
// files, whatever the scope.
func TestReadOnlyCage(t *testing.T) {
	st := newStage(t, "w/a", "w/.git/config")
	for _, line := range []string{"cat a", "sh -c x", "git status", "grep -r x ."} {
		req := st.request(words(line)...)
		req.Mode, req.Tmp = ReadOnly, st.R+"/tmp"
		d, refs := decide(t, req)
		if len(refs) > 0 {
			t.Fatalf("%s: %v", line, refs)
		}
		for _, r := range d.Cage.Rules {
			if r.Path != req.Tmp && r.Rights&(writeTree|MakeChar|MakeBlock|IoctlDev) != 0 {
				t.Errorf("%s: rule %v", line, r)
			}
		}
		if c := d.Cage; !c.NoAttr || c.Private || len(c.Caps) > 0 || c.Protect != nil || c.Tmp != req.Tmp || c.Net != NetNone {
			t.Errorf("%s: cage %+v", line, c)
		}
	}
}

// TestAlwaysForces: a module that only reads is read-only without the flag.
func TestAlwaysForces(t *testing.T) {
	st := newStage(t, "w/a")
	d, _ := decide(t, st.request("cat", "a"))
	if d.Mode != ReadOnly || !d.Cage.NoAttr {
		t.Errorf("cat: mode %d, cage %+v", d.Mode, d.Cage)
	}
	req := st.request("tee", "x")
	if d, _ := decide(t, req); d.Mode != ReadWrite {
		t.Errorf("tee: mode %d", d.Mode)
	}
	// Were cat to write, no flag would help.
	req = st.request("cat", "a")
	req.Call.Operands[0].Value.Face, req.Call.Operands[0].Value.Effect = argv.Write, argv.Overwrite
	if _, refs := decide(t, req); codes(refs) != "mode.readonly" || refs[0].Remedy != nil {
		t.Errorf("a writing cat: %v", refs)
	}
}

// TestRootScope: an unknown tool, an unverified one, and a token that is not
// explained get the root.
func TestRootScope(t *testing.T) {
	st := newStage(t, "w/a", "w/.git/config", "w/.envrc", "w/.github/workflows/ci.yml", "grant/f")
	unverified := st.request("cat", "a")
	unverified.Tool.Verified = false
	for _, tt := range []struct {
		name  string
		req   *Request
		rules string
	}{
		{"unknown", st.request("sh", "a"), "w X+W+R+D+RD+RF+MD+MR+MK+MF+MS+RE+T+IO"},
		{"unverified", unverified, "w X+R+D, w/a R"},
		{"unexplained", st.request("sort", "--nonsense", "a"), "w X+W+R+D+RD+RF+MD+MR+MK+MF+MS+RE+T+IO, w/a R"},
	} {
		d, refs := decide(t, tt.req)
		if len(refs) > 0 {
			t.Fatalf("%s: %v", tt.name, refs)
		}
		if got := rules(t, st, d); got != tt.rules || d.Cage.Scope != ScopeRoot {
			t.Errorf("%s: scope %d, rules %s, want %s", tt.name, d.Cage.Scope, got, tt.rules)
		}
		write := d.Mode == ReadWrite
		want := []string(nil)
		if write {
			want = []string{".git", ".envrc", ".github/workflows"}
		}
		if !slices.Equal(d.Cage.Protect, want) || d.Cage.Private != write || d.Cage.NoAttr == write {
			t.Errorf("%s: cage %+v", tt.name, d.Cage)
		}
	}
	req := st.request("sh", "a")
	grants("R/grant", argv.Read)(st, req)
	d, _ := decide(t, req)
	if got := rules(t, st, d); !strings.HasPrefix(got, "grant R+D, ") {
		t.Errorf("with a grant: rules %s", got)
	}
	workdir(".github")(st, req)
	d, _ = decide(t, req)
	if want := st.R + "/w/.git"; len(d.Cage.Protect) == 0 || d.Cage.Protect[0] != want {
		t.Errorf("from another directory: protect %q, want %q first", d.Cage.Protect, want)
	}
}

// TestHidden: what is closed beneath the root is not opened with it, for an
// unknown tool and for what a known one reads by implication.
func TestHidden(t *testing.T) {
	st := newStage(t, "w/a", "w/.ssh/id", "w/d/priv/s", "w/d/pub/f", "w/l -> .ssh/id")
	for _, line := range []string{"sh x", "git status", "sort --files0-from=a"} {
		req := st.request(words(line)...)
		req.Mode = ReadOnly
		denies("R/w/d/priv")(st, req)
		d, refs := decide(t, req)
		if len(refs) > 0 {
			t.Fatalf("%s: %v", line, refs)
		}
		got := strings.ReplaceAll(rules(t, st, d), "X+", "")
		if want := "w D, w/a R+D, w/d D, w/d/pub R+D"; got != want {
			t.Errorf("%s: rules %s, want %s", line, got, want)
		}
	}
	// Asked for by name, it is refused; so it is where nothing would hide it.
	if _, refs := decide(t, st.request("grep", "-r", "x", ".")); codes(refs) != "path.credential" {
		t.Errorf("grep -r: %v", refs)
	}
	req := st.request("git", "status")
	req.Cage, req.Kernel = CageAuto, Kernel{Seccomp: true}
	if _, refs := decide(t, req); codes(refs) != "path.unconfined" {
		t.Errorf("git status without Landlock: %v", refs)
	}
	// No name can be made where something is hidden: that right would reach it.
	d, _ := decide(t, st.request("sh", "x"))
	for _, r := range d.Cage.Rules {
		if (r.Path == st.R+"/w" || strings.Contains(r.Path, ".ssh")) && r.Rights&^ReadDir != 0 {
			t.Errorf("sh: rule %v", r)
		}
	}
	var names []string
	for i := range maxSiblings + 2 {
		names = append(names, fmt.Sprintf("w/n%d", i))
	}
	st = newStage(t, append(names, "w/.ssh/id")...)
	if _, refs := decide(t, st.request("sh", "x")); codes(refs) != "path.unconfined" {
		t.Errorf("too many siblings: %v", refs)
	}
}

// TestProfilesAndDeny: what is denied is not opened by the tool's own profile.
func TestProfilesAndDeny(t *testing.T) {
	st := newStage(t, "sys/a/f", "sys/b/f", "w/x")
	req := st.request("cat", "x")
	req.Profiles = []Rule{{Path: st.R + "/sys", Handle: -1, Rights: readTree}, {Path: "/dev/null", Handle: -1, Rights: ReadFile}}
	d, _ := decide(t, req)
	if len(d.Cage.Rules) != 3 || d.Cage.Rules[1] != req.Profiles[0] {
		t.Errorf("rules %v", d.Cage.Rules)
	}
	denies("R/sys/a")(st, req)
	d, _ = decide(t, req)
	if got, want := rules(t, st, d), "sys D, sys/b R+D, w/x R"; got != want {
		t.Errorf("with a part denied: %s, want %s", got, want)
	}
	req.Policy.Deny = nil
	denies("R/sys")(st, req)
	d, _ = decide(t, req)
	if got, want := rules(t, st, d), "w/x R"; got != want || len(d.Cage.Rules) != 2 {
		t.Errorf("with all of it denied: %s, want %s (%v)", got, want, d.Cage.Rules)
	}
}

// TestCageIsHeld: which calls run where the cage is not whole, and the remedy.
func TestCageIsHeld(t *testing.T) {
	st := newStage(t, "w/a")
	for _, tt := range []struct {
		line  string
		cage  CageMode
		k     Kernel
		want  string
		helps string
	}{
		{"sh a", CageDefault, whole, "", ""},
		{"sh a", CageDefault, Kernel{}, "tool.unknown", "add --cage auto"},
		{"sh a", CageRequire, Kernel{}, "cage.unavailable", "add --cage auto"},
		{"sh a", CageAuto, Kernel{}, "", ""},
		{"sh a", CageOff, whole, "tool.unknown", "drop --cage off"},
		{"sh a", CageOff, Kernel{}, "tool.unknown", "add --cage auto"},
		{"cat a", CageOff, whole, "", ""},
		{"cat a", CageDefault, Kernel{}, "", ""},
		{"cat a", CageRequire, Kernel{}, "cage.unavailable", "add --cage auto"},
		{"cat a", CageRequire, Kernel{Landlock: 5, Seccomp: true}, "", ""},
		{"sort --nonsense a", CageDefault, whole, "", ""},
		{"sort --nonsense a", CageDefault, Kernel{}, "argv.unexplained", "add --cage auto"},
		{"sort --nonsense a", CageAuto, Kernel{}, "", ""},
		{"sh a", CageDefault, Kernel{Landlock: 7, Seccomp: true}, "tool.unknown", "add --cage auto"}, // attributes
	} {
		req := st.request(words(tt.line)...)
		req.Cage, req.Kernel = tt.cage, tt.k
		_, refs := decide(t, req)
		helps := ""
		if len(refs) == 1 && refs[0].Remedy != nil {
			helps = refs[0].Remedy.Change
		}
		if codes(refs) != tt.want || helps != tt.helps {
			t.Errorf("%s, cage %d, %+v: %v, remedy %q, want %q, %q", tt.line, tt.cage, tt.k, refs, helps, tt.want, tt.helps)
		}
	}
	req := st.request("sort", "--outptu", "x", "a")
	req.Kernel = Kernel{}
	if _, refs := decide(t, req); len(refs) == 0 || !strings.Contains(refs[0].Message, "--outptu") || !strings.Contains(refs[0].Message, "nearest: --output") {
		t.Errorf("an unexplained token: %v", refs)
	}
}

// TestTokens: the words of an unknown tool.
func TestTokens(t *testing.T) {
	st := newStage(t, "w/a", "home/.ssh/id", "w/link -> ../home/.ssh/id", "out")
	for _, tt := range []struct {
		line string
		held string // where the cage is whole
		off  string // where there is none, and that was accepted
	}{
		{"sh -c x", "", ""},
		{"sh a", "", ""},
		{"sh ../out", "", "path.foreign_temp"},
		{"sh R/home/.ssh/id", "path.credential", "path.credential"},
		{"sh link", "path.credential", "path.credential"},
		{"sh --file=R/home/.ssh/id", "path.credential", "path.credential"},
		{"sh /proc/1/environ", "path.raw_device", "path.raw_device"},
		{"sh /proc/self/root/x", "path.unresolvable", "path.unresolvable"},
		{"sh /dev/stdin", "", ""},
		{"sh /dev/null", "", "path.raw_device"}, // it may be removed
		{"sh .git/hooks/x", "", "path.trust_file"},
		{"sh 12/34", "", ""},
		{"sh " + strings.Repeat("n", 5000), "", ""},
	} {
		req := st.request(words(tt.line)...)
		if _, refs := decide(t, req); codes(refs) != tt.held {
			t.Errorf("%.40s: %v, want %q", tt.line, refs, tt.held)
		}
		req.Cage, req.Kernel = CageAuto, Kernel{}
		if _, refs := decide(t, req); codes(refs) != tt.off {
			t.Errorf("%.40s, not caged: %v, want %q", tt.line, refs, tt.off)
		}
	}
	req := st.request("sh", "a")
	req.Mode, req.Cage, req.Kernel = ReadOnly, CageAuto, Kernel{}
	if _, refs := decide(t, req); codes(refs) != "mode.readonly" || !strings.Contains(refs[0].Message, "sh may change a") {
		t.Errorf("an unknown use in a read-only call that nothing holds: %v", refs)
	}
}

package path

import (
	"os"
	"strings"
	"testing"
)

func TestRole(t *testing.T) {
	g := Regions{
		Homes: []string{"/home/u"}, Own: []string{"/home/u/.local/state/wrap", "/opt/wrap/bin/wrap"}, Root: "/home/u/project", System: "linux",
	}
	for _, tt := range []struct {
		path string
		want Role
	}{
		{"/home/u/project", Worktree},
		{"/home/u/project/a/b", Worktree},
		{"/home/u/project/.git", WorktreeTrusted},
		{"/home/u/project/sub/.git/hooks/pre-commit", WorktreeTrusted},
		{"/home/u/project/.GIT/config", WorktreeTrusted},
		{"/home/u/project/.gitignore", Worktree},
		{"/home/u/project/.github/workflows/ci.yml", WorktreeTrusted},
		{"/home/u/project/.github/CODEOWNERS", Worktree},
		{"/home/u/project/x.github/workflows", Worktree},
		{"/home/u/project/.envrc", WorktreeTrusted},
		{"/home/u/project/.ssh/id", CredentialStore},
		{"/home/u/project-evil/x", Unknown},
		{"/home/u/.ssh/id", CredentialStore},
		{"/home/u/.NETRC", CredentialStore},
		{"/home/u/.config/gh/hosts.yml", CredentialStore},
		{"/home/u/.config/ghost", Unknown},
		{"/home/u/.config", Landmark},
		{"/home/u", Landmark},
		{"/home/u/.bashrc", TrustFile},
		{"/home/u/.config/systemd/user/x.service", TrustRoot},
		{"/home/u/.local/state/wrap/audit.jsonl", Own},
		{"/opt/wrap/bin/wrap", Own},
		{"/opt/wrap/bin/wrapper", Unknown},
		{"/home/v/.aws/credentials", CredentialStore},
		{"/root/x", CredentialStore},
		{"/etc/shadow", CredentialStore},
		{"/etc/passwd", SystemIntegrity},
		{"/etc", SystemIntegrity},
		{"/etcetera", Unknown},
		{"/usr/bin/env", SystemIntegrity},
		{"/usr/share/doc", PackageContent},
		{"/", Landmark},
		{"/tmp", Landmark},
		{"/tmp/x", Scratch},
		{"/dev/shm/x", Scratch},
		{"/dev/null", StandardStream},
		{"/dev/null/x", RawDevice},
		{"/dev/sda", RawDevice},
		{"/dev/stdin", RawDevice}, // Stream says what the spelling means
		{"/proc/self/environ", RawDevice},
		{"/sys/power/state", RawDevice},
		{"/srv/x", Unknown},
	} {
		if got := g.Role(tt.path); got != tt.want {
			t.Errorf("Role(%q) = %s, want %s", tt.path, got, tt.want)
		}
	}
}

// TestRoleRoot: what the root lies in does not protect what is beneath it; what
// lies beneath it stays what it is, and devices are devices.
func TestRoleRoot(t *testing.T) {
	for _, tt := range []struct {
		root, path string
		want       Role
	}{
		{"/root/project", "/root/project/a", Worktree},
		{"/root/project", "/root/other", CredentialStore},
		{"/root/project", "/root/project/.git/config", WorktreeTrusted},
		{"/etc/nginx", "/etc/nginx/nginx.conf", Worktree},
		{"/etc/nginx", "/etc/passwd", SystemIntegrity},
		{"/etc", "/etc/shadow", CredentialStore},
		{"/etc", "/etc/passwd", Worktree},
		{"/home/u", "/home/u/.ssh/id", CredentialStore},
		{"/home/u", "/home/u/.bashrc", TrustFile},
		{"/home/u", "/home/u/x", Worktree},
		{"/repo/.git/modules", "/repo/.git/modules/x", Worktree},
		{"/", "/etc/passwd", SystemIntegrity},
		{"/", "/srv/x", Worktree},
		{"/", "/proc/1/mem", RawDevice},
		{"/dev", "/dev/sda", RawDevice},
		{"/dev", "/dev/null", StandardStream},
	} {
		g := Regions{Homes: []string{"/home/u"}, Root: tt.root, System: "linux"}
		if got := g.Role(tt.path); got != tt.want {
			t.Errorf("root %s: Role(%q) = %s, want %s", tt.root, tt.path, got, tt.want)
		}
	}
}

func TestRoleSystems(t *testing.T) {
	for _, tt := range []struct {
		system, path string
		want         Role
	}{
		{"darwin", "/Users/u/Library/Keychains/x", CredentialStore},
		{"linux", "/Users/u/Library/Keychains/x", Unknown},
		{"darwin", "/proc/1/mem", Unknown},
		{"darwin", "/private/tmp/x", Scratch},
		{"linux", "/private/tmp/x", Unknown},
		{"darwin", "/root/x", Unknown},
	} {
		g := Regions{Homes: []string{"/Users/u"}, System: tt.system}
		if got := g.Role(tt.path); got != tt.want {
			t.Errorf("%s: Role(%q) = %s, want %s", tt.system, tt.path, got, tt.want)
		}
	}
	root := Regions{Homes: []string{"/root"}, System: "linux"}
	if got := root.Role("/root/x"); got != Unknown {
		t.Errorf("root's own home: Role(/root/x) = %s, want %s", got, Unknown)
	}
	if got := root.Role("/root/.ssh"); got != CredentialStore {
		t.Errorf("root's own home: Role(/root/.ssh) = %s, want %s", got, CredentialStore)
	}
}

func TestBeneath(t *testing.T) {
	for _, tt := range []struct {
		p, dir, rest string
		ok           bool
	}{
		{"/a/b", "/a", "b", true},
		{"/a", "/a", "", true},
		{"/ab", "/a", "", false},
		{"/a", "/a/b", "", false},
		{"/A/b", "/a", "", false},
		{"/a", "/", "a", true},
		{"/", "/", "", true},
		{"", "/a", "", false},
	} {
		if rest, ok := Beneath(tt.p, tt.dir); rest != tt.rest || ok != tt.ok {
			t.Errorf("Beneath(%q, %q) = %q, %t, want %q, %t", tt.p, tt.dir, rest, ok, tt.rest, tt.ok)
		}
		// What Beneath finds, Fold finds too, and in any capitals.
		if tt.ok && (!Fold(tt.p, tt.dir) || !Fold(strings.ToUpper(tt.p), tt.dir)) {
			t.Errorf("Fold(%q, %q) = false", tt.p, tt.dir)
		}
	}
	if Fold("/ab", "/A") || Fold("/a", "/A/b") || !Fold("/Ä/x", "/ä") {
		t.Error("Fold is off")
	}
}

func TestWorse(t *testing.T) {
	for i, a := range order {
		for k, b := range order {
			if got, want := Worse(a, b), order[min(i, k)]; got != want {
				t.Errorf("Worse(%s, %s) = %s, want %s", a, b, got, want)
			}
		}
		if Worse(a, "new") != "new" || Worse("new", a) != "new" || Worse("", a) != a || Worse(a, "") != a {
			t.Errorf("Worse with %s: an unknown role must win, and none must lose", a)
		}
	}
}

func TestUnder(t *testing.T) {
	g := Regions{Homes: []string{"/home/u"}, Own: []string{"/home/u/own"}, System: "linux"}
	found := map[string]Role{}
	for _, p := range g.Under("/home") {
		found[p.Path] = p.Role
	}
	for p, want := range map[string]Role{"/home/u": Landmark, "/home/u/own": Own, "/home/u/.config/gh": CredentialStore, "/etc/shadow": ""} {
		if found[p] != want {
			t.Errorf("Under(/home)[%s] = %q, want %q", p, found[p], want)
		}
	}
	if list := g.Under("/srv"); len(list) > 0 {
		t.Errorf("Under(/srv) = %v, want nothing", list)
	}
	if list := g.Segments(); len(list) < 20 {
		t.Errorf("Segments() has %d names", len(list))
	}
}

// TestRegionsAreKnown: what the compiler let through is what Role can judge.
func TestRegionsAreKnown(t *testing.T) {
	for _, r := range regions {
		if Worse(r.role, StandardStream) != r.role || Worse(r.role, RawDevice) != RawDevice {
			t.Errorf("%s: no such role: %s", r.path, r.role)
		}
	}
}

func TestHomeIn(t *testing.T) {
	const passwd = "# x\nbroken\nroot:x:0:0:root:/root:/bin/sh\nu:x:1000:1000::/home/u/:/bin/sh\nv:x:1000:1000::/home/v:/bin/sh\n" +
		"rel:x:7:7::home:/bin/sh\nshort:x:8:8:/home/s\n"
	for _, tt := range []struct {
		uid  int
		want string
	}{{0, "/root"}, {1000, "/home/u"}, {7, ""}, {8, ""}, {9, ""}, {-1, ""}} {
		got, ok := homeIn(strings.NewReader(passwd), tt.uid)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("homeIn(%d) = %q, %t, want %q", tt.uid, got, ok, tt.want)
		}
	}
	if h, ok := Home(os.Geteuid()); ok && !strings.HasPrefix(h, "/") {
		t.Errorf("Home = %q", h)
	}
}

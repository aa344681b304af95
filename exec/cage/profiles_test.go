package cage

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/wrapexec/wrap/guard"
)

// credentials are places that hold secrets or the means to get at more. No
// profile may name one, anything beneath one, or a directory that holds one.
var credentials = []string{
	"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/ssh", "/etc/krb5.keytab",
	"/etc/wrap", "/root", "/home", "/var", "/run", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/pts", "/proc/kcore", "/proc/self", "/proc/1",
	"/proc/sys/kernel/core_pattern", "/sys/kernel", "/tmp",
	"~/.ssh", "~/.gnupg", "~/.aws", "~/.kube", "~/.docker", "~/.netrc", "~/.git-credentials", "~/.config/git/credentials", "~/.config/gh",
	"~/.config/gcloud", "~/.npmrc", "~/.pypirc", "~/.cargo/credentials.toml", "~/.bash_history", "~/.bashrc", "~/.profile", "~/.local/share/keyrings",
	"~/.config/wrap",
}

const testHome = "/users/u"

func TestProfilesOpenNoCredential(t *testing.T) {
	n := 0
	for _, p := range profiles {
		for _, r := range Profiles([]string{p.name}, testHome) {
			n++
			for _, secret := range credentials {
				secret = strings.Replace(secret, "~", testHome, 1)
				if within(secret, r.Path) || within(r.Path, secret) {
					t.Errorf("profile %s opens %s, which touches %s", p.name, r.Path, secret)
				}
			}
		}
	}
	if n < 50 {
		t.Errorf("looked at %d rules only", n)
	}
	if !within("/etc/ssh/key", "/etc/ssh") || within("/etc/sshd", "/etc/ssh") || !within("/a", "/") {
		t.Error("within is broken")
	}
}

// within is whether name is dir or lies beneath it.
func within(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

func TestProfilesRights(t *testing.T) {
	for i, p := range profiles {
		if slices.ContainsFunc(profiles[:i], func(q profile) bool { return q.name == p.name }) {
			t.Errorf("profile %s is there twice", p.name)
		}
		if p.with != "" && (!HasProfile(p.with) || p.with == p.name) {
			t.Errorf("profile %s comes with %q", p.name, p.with)
		}
		for _, r := range p.rules {
			if r.Rights == 0 || r.Handle != 0 {
				t.Errorf("%s: rule %+v", p.name, r)
			}
			if clean := path.Clean(r.Path); clean != r.Path || !strings.HasPrefix(r.Path, "/") && !strings.HasPrefix(r.Path, "~/") {
				t.Errorf("%s: path %q is not clean and absolute", p.name, r.Path)
			}
			if r.Rights&guard.Execute != 0 && p.name != "programs" {
				t.Errorf("%s lets %s be executed", p.name, r.Path)
			}
			writes := r.Rights &^ (guard.Execute | guard.ReadFile | guard.ReadDir)
			if writes != 0 && (!strings.HasPrefix(r.Path, "/dev/") || writes != guard.WriteFile|guard.IoctlDev) {
				t.Errorf("%s lets %s be written (%#x)", p.name, r.Path, writes)
			}
			if r.Rights&guard.ReadDir != 0 && strings.HasPrefix(r.Path, "/proc") {
				t.Errorf("%s opens the directory %s", p.name, r.Path)
			}
		}
	}
}

func TestProfiles(t *testing.T) {
	tests := []struct {
		name  string
		names []string
		home  string
		want  []string
	}{
		{"none", nil, testHome, nil},
		{"unknown", []string{"no-such"}, testHome, nil},
		{"empty name", []string{""}, testHome, nil},
		{"tmp comes with the call", []string{"tmp"}, testHome, nil},
		{"file", []string{"file"}, testHome, []string{"/etc/magic", "/etc/magic.mime", "/users/u/.magic"}},
		{"home with a slash", []string{"file"}, "/users/u/", []string{"/etc/magic", "/etc/magic.mime", "/users/u/.magic"}},
		{"no home", []string{"file"}, "", []string{"/etc/magic", "/etc/magic.mime"}},
		{"relative home", []string{"file"}, "u", []string{"/etc/magic", "/etc/magic.mime"}},
		{"twice", []string{"locale", "locale"}, "", []string{"/etc/locale.alias", "/etc/locale.conf"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range Profiles(tt.names, tt.home) {
				got = append(got, r.Path)
				if r.Handle != -1 {
					t.Errorf("%s has handle %d, want -1", r.Path, r.Handle)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("Profiles(%q, %q) = %q, want %q", tt.names, tt.home, got, tt.want)
			}
		})
	}
	// A path of two profiles has the rights of both, once; and what comes with
	// a profile comes.
	var usr, stat int
	for _, r := range Profiles([]string{"base", "programs"}, "") {
		switch r.Path {
		case "/usr":
			usr++
			if r.Rights != guard.Execute|guard.ReadFile|guard.ReadDir {
				t.Errorf("/usr has rights %#x", r.Rights)
			}
		case "/proc/stat":
			stat++
		}
	}
	if usr != 1 || stat != 1 {
		t.Errorf("/usr is there %d times, /proc/stat %d times, want once", usr, stat)
	}
	for _, r := range Profiles([]string{"base"}, "") {
		if r.Path == "/usr" && r.Rights != guard.ReadFile|guard.ReadDir {
			t.Errorf("rights were added to the data: /usr has %#x", r.Rights)
		}
	}
}

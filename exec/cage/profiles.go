package cage

import (
	"strings"

	"github.com/wrapexec/wrap/guard"
)

const (
	readFile  = guard.ReadFile
	readTree  = guard.ReadFile | guard.ReadDir
	runTree   = guard.Execute | readTree
	useDevice = guard.ReadFile | guard.WriteFile | guard.IoctlDev
)

// profile is a named set of system paths. A path that begins with "~/" lies in
// the caller's home. A path that does not exist opens nothing, so each lists
// what the distributions between them have.
type profile struct {
	name  string
	rules []guard.Rule
	with  string // another profile that comes with it, "" for none
}

// profiles are data: what tools were seen to need beside their operands, with
// what goes wrong without it. None opens a directory that holds credentials,
// none opens /proc, and only "programs" lets anything be executed.
var profiles = [...]profile{
	{name: "base", rules: []guard.Rule{
		// The loader, libraries, locales, time zones. Where /lib and its kin
		// are links into /usr these rules fall together.
		{Path: "/usr", Rights: readTree},
		{Path: "/lib", Rights: readTree},
		{Path: "/lib64", Rights: readTree},
		{Path: "/etc/ld.so.cache", Rights: readFile},
		// Denied: git, perl, ssh and every redirection fail.
		{Path: "/dev/null", Rights: useDevice},
		{Path: "/dev/full", Rights: useDevice},
		{Path: "/dev/tty", Rights: useDevice},
		{Path: "/dev/zero", Rights: readFile},
		{Path: "/dev/random", Rights: readFile},
		{Path: "/dev/urandom", Rights: readFile},
	}},
	// How big and how busy the machine is, in single files: nothing in them is
	// about a process. Runtimes size their pools by them; denied, they do
	// without.
	{name: "host", rules: []guard.Rule{
		{Path: "/proc/cpuinfo", Rights: readFile},
		{Path: "/proc/filesystems", Rights: readFile},
		{Path: "/proc/loadavg", Rights: readFile},
		{Path: "/proc/meminfo", Rights: readFile},
		{Path: "/proc/stat", Rights: readFile},
		{Path: "/proc/uptime", Rights: readFile},
		{Path: "/proc/sys/kernel/ngroups_max", Rights: readFile},
		{Path: "/proc/sys/vm/overcommit_memory", Rights: readFile},
		{Path: "/sys/devices/system/cpu/online", Rights: readFile},
	}},
	// Denied: wrong sort orders, widths and dates, with exit 0.
	{name: "locale", rules: []guard.Rule{
		{Path: "/etc/locale.alias", Rights: readFile},
		{Path: "/etc/locale.conf", Rights: readFile},
	}},
	// Denied: silently UTC. A link leads to /usr; this is for a plain copy.
	{name: "tz", rules: []guard.Rule{
		{Path: "/etc/localtime", Rights: readFile},
		{Path: "/etc/timezone", Rights: readFile},
	}},
	// Denied: numbers for names; ssh and whoami fail.
	{name: "nss", rules: []guard.Rule{
		{Path: "/etc/nsswitch.conf", Rights: readFile},
		{Path: "/etc/passwd", Rights: readFile},
		{Path: "/etc/group", Rights: readFile},
	}},
	// The call's private directory, whose rule comes with the call.
	{name: "tmp"},
	// A file of these that exists and is denied is fatal to git (exit 128).
	{name: "git", rules: []guard.Rule{
		{Path: "/etc/gitconfig", Rights: readFile},
		{Path: "/etc/gitattributes", Rights: readFile},
		{Path: "~/.gitconfig", Rights: readFile},
		{Path: "~/.config/git/config", Rights: readFile},
		{Path: "~/.config/git/ignore", Rights: readFile},
		{Path: "~/.config/git/attributes", Rights: readFile},
	}},
	// Denied: file(1) complains, and fails if /usr/lib/file is denied too.
	{name: "file", rules: []guard.Rule{
		{Path: "/etc/magic", Rights: readFile},
		{Path: "/etc/magic.mime", Rights: readFile},
		{Path: "~/.magic", Rights: readFile},
	}},
	{name: "term", rules: []guard.Rule{
		{Path: "/etc/terminfo", Rights: readTree},
		{Path: "/lib/terminfo", Rights: readTree},
		{Path: "~/.terminfo", Rights: readTree},
	}},
	// Denied: node does not start. /etc/ssl itself holds private keys.
	{name: "tls", rules: []guard.Rule{
		{Path: "/etc/ssl/openssl.cnf", Rights: readFile},
		{Path: "/etc/ssl/cert.pem", Rights: readFile},
		{Path: "/etc/ssl/certs", Rights: readTree},
		{Path: "/etc/pki/tls/openssl.cnf", Rights: readFile},
		{Path: "/etc/pki/tls/cert.pem", Rights: readFile},
		{Path: "/etc/pki/tls/certs", Rights: readTree},
		{Path: "/etc/pki/ca-trust/extracted", Rights: readTree},
	}},
	// Host names. The file that resolv.conf leads to is opened, not its link.
	{name: "net", rules: []guard.Rule{
		{Path: "/etc/resolv.conf", Rights: readFile},
		{Path: "/etc/hosts", Rights: readFile},
		{Path: "/etc/host.conf", Rights: readFile},
		{Path: "/etc/gai.conf", Rights: readFile},
		{Path: "/etc/services", Rights: readFile},
		{Path: "/etc/protocols", Rights: readFile},
	}},
	// The system's programs, for tools that run others, by root scope.
	{name: "programs", with: "host", rules: []guard.Rule{
		{Path: "/usr", Rights: runTree},
		{Path: "/bin", Rights: runTree},
		{Path: "/sbin", Rights: runTree},
		{Path: "/lib", Rights: runTree},
		{Path: "/lib64", Rights: runTree},
	}},
}

// Profiles are the rules of the named profiles, each path once, with all the
// rights that any of them gives. A name that is not known opens nothing;
// HasProfile tells. home is the caller's home directory, "" for none.
//
// The paths are opened when the cage is applied: links in them are followed,
// and what is missing is skipped.
func Profiles(names []string, home string) []guard.Rule {
	rules := make([]guard.Rule, 0, 32)
	for _, name := range names {
		for p := find(name); p != nil; p = find(p.with) {
			for _, r := range p.rules {
				r.Handle = -1
				if rest, ok := strings.CutPrefix(r.Path, "~/"); ok {
					if !strings.HasPrefix(home, "/") {
						continue
					}
					r.Path = strings.TrimRight(home, "/") + "/" + rest
				}
				rules = add(rules, r)
			}
		}
	}
	return rules
}

func add(rules []guard.Rule, r guard.Rule) []guard.Rule {
	for i := range rules {
		if rules[i].Path == r.Path {
			rules[i].Rights |= r.Rights
			return rules
		}
	}
	return append(rules, r)
}

// HasProfile says whether there is a profile of that name.
func HasProfile(name string) bool { return find(name) != nil }

func find(name string) *profile {
	for i := range profiles {
		if profiles[i].name == name {
			return &profiles[i]
		}
	}
	return nil
}

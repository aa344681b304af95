package exec

import (
	"slices"
	"strings"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/guard"
	"github.com/wrapexec/wrap/overlays"
)

// base are the variables that every child gets if its caller has them, beside
// all of LC_*. None of them changes which code a program runs or which files
// it takes as configuration.
var base = []string{
	"COLORTERM", "COLUMNS", "HOME", "LANG", "LANGUAGE", "LINES", "LOGNAME",
	"NO_COLOR", "SHELL", "TERM", "TZ", "USER",
}

// steering are the variables that change which code runs, what it reads as
// configuration, or where it writes. A name that ends in "*" is a prefix.
// Sources: ld.so(8), bash(1), git(1), environ(7) and the manuals of the
// interpreters named.
var steering = []string{
	"LD_*", "DYLD_*", "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN",
	"LOCPATH", "MALLOC_*", "NIS_PATH", "NLSPATH", "RESOLV_HOST_CONF", "RES_OPTIONS", "TZDIR",
	"PATH", "IFS", "CDPATH", "ENV", "BASH_ENV", "BASH_FUNC_*", "BASHOPTS", "SHELLOPTS", "PS4",
	"PROMPT_COMMAND", "GLOBIGNORE", "FPATH", "ZDOTDIR", "POSIXLY_CORRECT", "_POSIX2_VERSION",
	"TMPDIR", "TMP", "TEMP", "PWD", "OLDPWD",
	"EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "SUDO_ASKPASS", "SSH_ASKPASS",
	"LESSOPEN", "LESSCLOSE", "LESS", "LESSKEY*", "MORE", "GIT_*", "HG*", "SVN_*",
	"TAR_OPTIONS", "GREP_OPTIONS", "GZIP", "BZIP2", "XZ_OPT", "XZ_DEFAULTS", "ZIPOPT", "UNZIP",
	"RSYNC_*", "CURL_HOME", "WGETRC", "SYSTEM_WGETRC", "MAGIC", "VERSION_CONTROL", "SIMPLE_BACKUP_SUFFIX",
	"PERL5LIB", "PERL5OPT", "PERL5DB", "PERLLIB", "PYTHON*", "RUBYLIB", "RUBYOPT", "NODE_*", "LUA_*",
	"AWKPATH", "AWKLIBPATH", "GOFLAGS", "GOROOT", "GOTOOLDIR", "CGO_*", "CC", "CXX", "MAKEFLAGS", "MAKEFILES",
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "MAVEN_OPTS",
	"RUSTC", "RUSTC_WRAPPER", "RUSTFLAGS", "CARGO_*", "KUBECONFIG", "DOCKER_*", "NPM_CONFIG_*", "npm_config_*",
	"OPENSSL_*", "SSLKEYLOGFILE", "XDG_*", "TERMINFO*", "TERMCAP",
	"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
}

// secretWords mark a variable as a secret by its name.
var secretWords = []string{
	"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "API_KEY",
	"ACCESS_KEY", "PRIVATE_KEY", "SESSION_KEY", "AUTH", "COOKIE", "DSN", "DATABASE_URL", "CONNECTION_STRING",
}

func matches(name string, patterns []string) bool {
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); ok {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		} else if name == p {
			return true
		}
	}
	return false
}

func isSecret(name string) bool {
	upper := strings.ToUpper(name)
	for _, w := range secretWords {
		if strings.Contains(upper, w) {
			return true
		}
	}
	return false
}

// environment builds the child's environment.
//
// A tool that is known gets the base list and what its overlay passes; one
// that is not runs other people's code, and gets the caller's own environment
// less what steers and what is secret. Fixed settings come last and always
// hold. The result has each name once, in a stable order.
type environment struct {
	caller  []string // NAME=VALUE, as the caller has it
	set     []string // NAME or NAME=VALUE from --env, already judged
	overlay *overlays.Overlay
	path    string // the pinned PATH
	tmp     string // "" keeps the caller's TMPDIR
	pwd     string
}

func (e *environment) build() []string {
	out := make([]string, 0, 32)
	put := func(name, value string) {
		kv := name + "=" + value
		for i, old := range out {
			if len(old) > len(name) && old[len(name)] == '=' && old[:len(name)] == name {
				out[i] = kv
				return
			}
		}
		out = append(out, kv)
	}
	for _, kv := range e.caller {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		if e.passes(name) {
			put(name, value)
		}
	}
	put("PATH", e.path)
	if e.tmp != "" {
		put("TMPDIR", e.tmp)
	} else if v, ok := lookup(e.caller, "TMPDIR"); ok {
		put("TMPDIR", v)
	}
	put("PWD", e.pwd)
	for _, kv := range e.set {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			if value, ok = lookup(e.caller, name); !ok {
				continue
			}
		}
		if value == "" && e.steers(name) {
			// getopt(3) only asks whether POSIXLY_CORRECT is there.
			out = slices.DeleteFunc(out, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
			continue
		}
		put(name, value)
	}
	if e.overlay != nil {
		for _, kv := range e.overlay.Env.Fixed {
			name, value, _ := strings.Cut(kv, "=")
			put(name, value)
		}
	}
	return out
}

func (e *environment) steers(name string) bool { return steers(name, e.overlay) }

func steers(name string, o *overlays.Overlay) bool {
	return matches(name, steering) || o != nil && matches(name, o.Env.Steering) && !matches(name, o.Env.Pass)
}

func (e *environment) passes(name string) bool {
	if matches(name, base) || strings.HasPrefix(name, "LC_") {
		return true
	}
	if e.overlay != nil {
		return matches(name, e.overlay.Env.Pass)
	}
	return !matches(name, steering) && !isSecret(name)
}

func lookup(environ []string, name string) (string, bool) {
	for _, kv := range environ {
		if len(kv) > len(name) && kv[len(name)] == '=' && kv[:len(name)] == name {
			return kv[len(name)+1:], true
		}
	}
	return "", false
}

// judgeEnv says whether --env NAME[=VALUE] may be given to a tool. A variable
// that steers is refused whatever its value. The empty one takes it away.
func judgeEnv(kv string, tool string, o *overlays.Overlay) *guard.Refusal {
	name, value, has := strings.Cut(kv, "=")
	if has && value == "" || !steers(name, o) {
		return nil
	}
	return &guard.Refusal{
		Code: guard.CodeWidens, Reason: "Steering", Arg: -1, Text: name,
		Message: "--env " + argv.Quote(name) + " changes what " + argv.Quote(tool) + " runs, reads or writes beside its operands",
	}
}

package guard

import (
	"strings"
	"time"
)

// Widens reports whether a flag of the launcher, or a variable of its
// environment, with this value, can turn a refusal into an allow: whether to
// leave it out could turn an allow into a refusal. Where flags may not widen,
// such a one is refused (CodeWidens). name is the flag without dashes, or the
// variable's. A name that is not known widens.
//
// A limit is compared with what holds without it: a timeout only narrows, and
// so does a grace below the default.
func Widens(name, value string, defaultGrace time.Duration) bool {
	switch name {
	case "readonly", "deny", "workdir", "timeout", "dry-run", "explain", "json", "report", "params",
		"log-level", "verbose", "v", "quiet", "q", "version", "help", "h":
		return name == "readonly" && value == "false"
	case "net":
		return value != "none"
	case "tmp":
		return value != "private"
	case "cage":
		return value != "require"
	case "grace":
		d, err := time.ParseDuration(value)
		return err != nil || d > defaultGrace
	case "no-breaker":
		return !strings.EqualFold(value, "false")
	}
	return true // root, ro, rw, env, XDG_STATE_HOME, and what comes later
}

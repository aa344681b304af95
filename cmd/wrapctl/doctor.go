package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/audit"
	"github.com/wrapexec/wrap/breaker"
	"github.com/wrapexec/wrap/exec/cage"
	"github.com/wrapexec/wrap/guard"
)

// status is how a check came out.
type status string

const (
	ok status = "ok"
	// limited: some calls are refused, or run with less held; the others are whole.
	limited status = "limited"
	// missing: something that every call needs is not there.
	missing status = "missing"
)

// check is one line of the doctor's.
type check struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Status status `json:"status"`
	// Help says what to do; empty where nothing is amiss.
	Help string `json:"help,omitempty"`
}

// doctor changes nothing, and fails only if it cannot print.
func doctor(out *output) (int, error) {
	k := cage.Probe()
	checks := kernelChecks(k)
	checks = append(checks, stateChecks()...)
	return printChecks(out, checks), nil
}

func printChecks(out *output, checks []check) int {
	code := exitOK
	rows := make([][]string, 0, len(checks))
	for _, c := range checks {
		if c.Status == missing {
			code = exitBad
		}
		verdict := string(c.Status)
		if c.Help != "" {
			verdict += ": " + argv.Escape(c.Help)
		}
		rows = append(rows, []string{c.Name, argv.Escape(c.Value), verdict})
	}
	if out.json {
		out.object(map[string]any{"schema": 1, "ok": code == exitOK, "checks": checks})
	} else {
		out.table(rows)
	}
	return code
}

// kernelChecks says what k means for calls. Pure but for the kernel's name.
func kernelChecks(k guard.Kernel) []check {
	checks := []check{{Name: "system", Value: system(), Status: ok}}

	c := check{Name: "landlock", Value: fmt.Sprintf("ABI %d", k.Landlock), Status: ok}
	switch {
	case k.Landlock == 0:
		c.Value, c.Status = "none", missing
		c.Help = "needs Linux 5.13 or newer, built with Landlock, with landlock in the lsm= list of the boot line"
	case k.Landlock < 3:
		c.Status, c.Help = limited, "Linux 6.2 (ABI 3) also holds truncation in calls that write"
	case k.Landlock < 6:
		c.Help = "Linux 6.12 (ABI 6) also keeps signals and abstract sockets inside"
	}
	checks = append(checks, c)

	c = check{Name: "seccomp", Value: "filters", Status: ok}
	if !k.Seccomp {
		c.Value, c.Status = "none", missing
		c.Help = "needs Linux 4.14 or newer with seccomp filters, on amd64 or arm64"
	}
	checks = append(checks, c)

	c = check{Name: "mounts", Value: "a private view", Status: ok}
	if !k.Mounts {
		c.Value, c.Status = "none", limited
		c.Help = "needs CAP_SYS_ADMIN and Linux 5.12: without it, attributes and protected names are not held in calls that may write"
	}
	checks = append(checks, c)

	// What follows from it, as the guard sees it.
	reading := guard.Cage{NoAttr: true}
	writing := guard.Cage{
		Scope: guard.ScopeRoot, Private: true, Protect: []string{".git"},
		Rules: []guard.Rule{{Path: "root", Handle: -1, Rights: guard.ReadFile | guard.WriteFile | guard.MakeReg}},
	}
	return append(checks,
		cageCheck("cage, read-only", &reading, k, missing, "read-only calls of unknown tools are refused without --cage auto"),
		cageCheck("cage, writing", &writing, k, limited, "unknown tools that may write are refused without --cage auto; known ones run, and say what is not held"))
}

// cageCheck is whether the kernel holds c whole; partial is how bad it is if not.
func cageCheck(name string, c *guard.Cage, k guard.Kernel, partial status, help string) check {
	enforced, lacking := c.Enforced(k)
	ch := check{Name: name, Value: "holds " + strings.Join(enforced, " "), Status: ok}
	if len(enforced) == 0 {
		ch.Value = "holds nothing"
	}
	if !guard.Whole(lacking) {
		ch.Status, ch.Help = partial, "not "+strings.Join(lacking, " ")+": "+help
	}
	return ch
}

// stateChecks looks at what wrap keeps.
func stateChecks() []check {
	h := check{Name: "home", Value: home(), Status: ok}
	if h.Value == "" {
		h.Value, h.Status = "none", limited
		h.Help = "this user has no passwd entry, and HOME is no absolute path: set XDG_STATE_HOME to keep a log"
	}
	dir, err := stateDir()
	if err != nil {
		return []check{h, {Name: "state", Value: "none", Status: missing, Help: err.Error()}}
	}
	state := stateCheck(dir)
	if state.Status == missing {
		return []check{h, state}
	}
	return []check{h, state, auditCheck(dir), breakerCheck(dir)}
}

// stateCheck is whether the launcher could write records into dir.
func stateCheck(dir string) check {
	c := check{Name: "state", Value: dir, Status: ok}
	var st unix.Stat_t
	err := unix.Lstat(dir, &st)
	if errors.Is(err, unix.ENOENT) {
		c.Value += " (made when it is needed)"
		above := filepath.Dir(dir)
		for above != "/" && unix.Access(above, unix.F_OK) != nil {
			above = filepath.Dir(above)
		}
		if err := unix.Access(above, unix.W_OK|unix.X_OK); err != nil {
			c.Status, c.Help = missing, fmt.Sprintf("it cannot be made: %s: %v", above, err)
		}
		return c
	}
	mode := uint32(st.Mode)
	switch {
	case err != nil:
		c.Status, c.Help = missing, err.Error()
	case mode&unix.S_IFMT != unix.S_IFDIR:
		c.Status, c.Help = missing, "not a directory: move it away (a link there is not followed)"
	case int(st.Uid) != os.Geteuid():
		c.Status, c.Help = missing, fmt.Sprintf("owned by user %d, not by you (%d): give it away, or set XDG_STATE_HOME", st.Uid, os.Geteuid())
	case unix.Access(dir, unix.W_OK|unix.X_OK) != nil:
		c.Status, c.Help = missing, "not writable: chmod 700, or set XDG_STATE_HOME"
	default:
		c.Value += fmt.Sprintf(" (mode %04o)", mode&0o7777)
		if mode&0o077 != 0 {
			c.Help = "the next call narrows it to 0700"
		}
	}
	return c
}

func auditCheck(dir string) check {
	c := check{Name: "audit log", Status: ok}
	sum, err := audit.Verify(filepath.Join(dir, audit.FileName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Value = "no record yet"
	case err != nil:
		c.Value, c.Status, c.Help = "unreadable", missing, err.Error()
	default:
		c.Value = summary(&sum)
		if b := sum.FirstBad; b != nil {
			c.Status, c.Help = missing, fmt.Sprintf("line %d: %s; keep a copy, find out who did it, then move it away", b.Line, b.Reason)
		}
	}
	return c
}

func breakerCheck(dir string) check {
	c := check{Name: "breakers", Status: ok}
	list, err := breaker.Open(filepath.Join(dir, breaker.DirName), breaker.Options{}).List()
	if err != nil {
		c.Value, c.Status, c.Help = "unreadable", limited, err.Error()
		return c
	}
	open, bad := 0, 0
	for _, e := range list {
		switch {
		case e.Err != nil:
			bad++
		case e.RetryAfter > 0:
			open++
		}
	}
	c.Value = count(open, "open circuit")
	if bad > 0 {
		c.Status, c.Help = limited, count(bad, "unreadable file")+", counted as closed (wrapctl breaker list)"
	}
	return c
}

// system is the kernel's name and release.
func system() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return runtime.GOOS
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:]) + " " + runtime.GOARCH
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/exec"
	"github.com/wrapexec/wrap/guard"
)

// options are the launcher's flags.
type options struct {
	call exec.Call

	explain, json  bool
	report         string
	params         string
	hasParams      bool
	logLevel       string
	verbose, quiet bool
	version, help  bool
	readonly       bool
	rest           []string
}

// errUsage marks a mistake in wrap's own flags.
type errUsage struct{ msg string }

func (e *errUsage) Error() string { return e.msg }

func usagef(format string, args ...any) error {
	return &errUsage{fmt.Sprintf(format, args...)}
}

// parseFlags reads wrap's own flags, which end at the tool's name or at "--".
// What follows is the tool's, byte for byte.
//
// The flags are read by the standard library's package: the one that the
// design names links package net, and with it the C library, into every start
// (docs/decisions/0004-flags.md).
func parseFlags(args []string) (*options, error) {
	o := &options{}
	c := &o.call
	f := flag.NewFlagSet("wrap", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}

	f.BoolVar(&o.readonly, "readonly", false, "")
	f.Func("root", "", nonEmpty(&c.Root))
	f.Func("workdir", "", nonEmpty(&c.Workdir))
	f.Func("ro", "", func(s string) error { return addGrant(c, s, argv.Read|argv.Exec, "--ro") })
	f.Func("rw", "", func(s string) error {
		return addGrant(c, s, argv.Read|argv.Write|argv.Rebind|argv.Exec, "--rw")
	})
	f.Func("deny", "", func(s string) error {
		if err := pathValue(s); err != nil {
			return err
		}
		c.Deny = append(c.Deny, s)
		return nil
	})
	f.Func("net", "", func(s string) error {
		switch s {
		case "none":
			c.Net = guard.NetNone
		case "all":
			c.Net = guard.NetAll
		default:
			return errors.New("expected none or all")
		}
		return nil
	})
	f.Func("timeout", "", duration(&c.Timeout))
	f.Func("grace", "", duration(&c.Grace))
	f.Func("env", "", func(s string) error {
		if name, _, _ := strings.Cut(s, "="); name == "" {
			return errors.New("expected NAME or NAME=VALUE")
		}
		c.Env = append(c.Env, s)
		return nil
	})
	f.Func("tmp", "", func(s string) error {
		switch s {
		case "private":
			c.SharedTmp = false
		case "shared":
			c.SharedTmp = true
		default:
			return errors.New("expected private or shared")
		}
		return nil
	})
	f.Func("cage", "", func(s string) error {
		switch s {
		case "auto":
			c.Cage = guard.CageAuto
		case "require":
			c.Cage = guard.CageRequire
		case "off":
			c.Cage = guard.CageOff
		default:
			return errors.New("expected auto, require or off")
		}
		return nil
	})
	f.BoolVar(&c.DryRun, "dry-run", false, "")
	f.BoolVar(&o.explain, "explain", false, "")
	f.BoolVar(&o.json, "json", false, "")
	f.Func("report", "", nonEmpty(&o.report))
	f.Func("params", "", func(s string) error { o.params, o.hasParams = s, true; return nil })
	f.BoolVar(&c.NoBreaker, "no-breaker", false, "")
	f.Func("log-level", "", func(s string) error {
		switch s {
		case "debug", "info", "warn", "error":
			o.logLevel = s
			return nil
		}
		return errors.New("expected debug, info, warn or error")
	})
	f.BoolVar(&o.verbose, "v", false, "")
	f.BoolVar(&o.quiet, "q", false, "")
	f.BoolVar(&o.version, "version", false, "")
	f.BoolVar(&o.help, "help", false, "")
	f.BoolVar(&o.help, "h", false, "")

	if err := f.Parse(args); err != nil {
		return nil, flagError(err, args, f)
	}
	o.rest = f.Args()
	c.Mode = guard.ReadWrite
	if o.readonly {
		c.Mode = guard.ReadOnly
	}
	if o.verbose && o.quiet {
		return nil, usagef("-v and -q cannot be used together")
	}
	return o, nil
}

// flagError turns the flag package's errors into one line of ours.
func flagError(err error, args []string, f *flag.FlagSet) error {
	msg := err.Error()
	if name, ok := strings.CutPrefix(msg, "flag provided but not defined: -"); ok {
		help := "wrap --help lists the flags"
		if len(args) > 0 && f.NArg() == 0 {
			help = "the tool's own flags go behind its name, or behind --"
		}
		dashes := "--"
		if len(name) == 1 {
			dashes = "-"
		}
		return usagef("unknown flag %s (%s)", argv.Quote(dashes+name), help)
	}
	if name, ok := strings.CutPrefix(msg, "flag needs an argument: -"); ok {
		return usagef("--%s needs a value", name)
	}
	// invalid value "x" for flag -net: why, and for switches
	// invalid boolean value "x" for -readonly: why
	for _, form := range [...][2]string{{"invalid value ", " for flag -"}, {"invalid boolean value ", " for -"}} {
		rest, ok := strings.CutPrefix(msg, form[0])
		value, rest, ok2 := strings.Cut(rest, form[1])
		if !ok || !ok2 {
			continue
		}
		name, why, _ := strings.Cut(rest, ": ")
		if why == "parse error" {
			why = "expected true or false"
		}
		if u, err := strconv.Unquote(value); err == nil {
			value = argv.Quote(u)
		}
		return usagef("--%s %s: %s", name, value, argv.Escape(why))
	}
	return usagef("%s", argv.Escape(msg))
}

func nonEmpty(p *string) func(string) error {
	return func(s string) error {
		if err := pathValue(s); err != nil {
			return err
		}
		*p = s
		return nil
	}
}

func pathValue(s string) error {
	if s == "" {
		return errors.New("expected a path, got nothing")
	}
	if strings.IndexByte(s, 0) >= 0 {
		return errors.New("a path cannot hold a NUL byte")
	}
	return nil
}

func addGrant(c *exec.Call, s string, faces argv.Face, source string) error {
	if err := pathValue(s); err != nil {
		return err
	}
	c.Grants = append(c.Grants, guard.Grant{Path: s, Faces: faces, Source: source})
	return nil
}

func duration(p *time.Duration) func(string) error {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil {
			// timeout(1) takes plain seconds; so do we.
			if n, nerr := strconv.ParseUint(s, 10, 31); nerr == nil {
				d, err = time.Duration(n)*time.Second, nil
			}
		}
		if err != nil || d <= 0 {
			return errors.New("expected a duration above zero, such as 500ms, 30s or 2m")
		}
		*p = d
		return nil
	}
}

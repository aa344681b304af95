// Command wrapctl is everything about wrap that is not running a tool: the audit
// log, the circuit breakers, and what this machine can enforce.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/audit"
	"github.com/wrapexec/wrap/guard"
)

const help = `wrapctl looks after wrap.

usage: wrapctl COMMAND [flags]

  audit path            print where the decision log is
  audit verify [FILE]   check every record and the chain
  breaker list          the circuits of tools that failed
  doctor                what this machine can enforce, and what to do about the rest

  --json                the answer for a program (not for audit path)
  --help, --version

exit: 0 all is well; 1 the answer is bad news; 125 there is no answer

examples
  wrapctl audit verify
  wrapctl breaker list --json
  wrapctl doctor
`

// The exit codes.
const (
	exitOK     = 0
	exitBad    = 1
	exitFailed = 125
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program.
func run(args []string, stdout, stderr io.Writer) int {
	out := &output{w: stdout}
	code, err := dispatch(args, out)
	if err == nil {
		err = out.err
	}
	if err != nil {
		fmt.Fprintf(stderr, "wrapctl: %s\n", argv.Escape(err.Error()))
		return exitFailed
	}
	return code
}

// dispatch finds the command. An error is one that left no answer.
func dispatch(args []string, out *output) (int, error) {
	flags := pflag.NewFlagSet("wrapctl", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.BoolVar(&out.json, "json", false, "")
	showVersion := flags.Bool("version", false, "")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return exitOK, out.text(help)
	} else if err != nil {
		return 0, fmt.Errorf("%w (wrapctl --help lists the flags)", err)
	}
	if *showVersion {
		return exitOK, out.text(version())
	}
	var words [3]string
	if flags.NArg() > len(words) {
		return 0, fmt.Errorf("too many arguments: %s", argv.QuoteAll(flags.Args()[len(words):]))
	}
	copy(words[:], flags.Args())
	extra := func(allowed int) error {
		if flags.NArg() > allowed {
			return fmt.Errorf("%s takes no argument %s", argv.QuoteAll(flags.Args()[:allowed]), argv.Quote(flags.Arg(allowed)))
		}
		return nil
	}
	switch words[0] + " " + words[1] {
	case " ":
		return 0, errors.New("no command named (wrapctl --help lists them)")
	case "audit path":
		if err := extra(2); err != nil {
			return 0, err
		}
		return auditPath(out)
	case "audit verify":
		return auditVerify(out, words[2], flags.NArg() > 2)
	case "breaker list":
		if err := extra(2); err != nil {
			return 0, err
		}
		return breakerList(out)
	}
	switch words[0] {
	case "doctor", "help":
		if err := extra(1); err != nil {
			return 0, err
		}
		if words[0] == "help" {
			return exitOK, out.text(help)
		}
		return doctor(out)
	}
	return 0, fmt.Errorf("no such command: %s (wrapctl --help lists them)", argv.QuoteAll(flags.Args()))
}

// output is stdout. It remembers the first error of a write, so that an answer
// that was not delivered is none.
type output struct {
	w    io.Writer
	json bool
	err  error
}

func (o *output) text(s string) error {
	if _, err := io.WriteString(o.w, s); err != nil && o.err == nil {
		o.err = fmt.Errorf("stdout: %w", err)
	}
	return nil
}

// line writes a line whose parts the caller has escaped.
func (o *output) line(format string, args ...any) {
	o.text(fmt.Sprintf(format, args...) + "\n")
}

// object writes a JSON answer as one line.
func (o *output) object(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		o.err = err
		return
	}
	o.text(string(b) + "\n")
}

// home is the caller's by passwd entry, as the launcher finds it: $HOME counts
// only where there is no entry.
func home() string {
	if h, ok := guard.Home(os.Geteuid()); ok {
		return h
	}
	if h := os.Getenv("HOME"); filepath.IsAbs(h) {
		return h
	}
	return ""
}

func stateDir() (string, error) {
	return audit.StateDir(home(), os.Getenv("XDG_STATE_HOME"))
}

// version is the module's version as the build recorded it.
func version() string {
	v := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	return "wrapctl " + v + "\n"
}

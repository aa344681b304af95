// Command wrap runs one command-line tool for a caller who is not trusted to
// run it freely: it judges the argv, runs the tool in the directory that was
// judged, and has the kernel hold the tool to the judgement.
//
// Everything that is not running a tool is wrapctl's.
package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/lmittmann/tint"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/exec"
	"github.com/wrapexec/wrap/guard"
)

const exitFailed = 125

func main() {
	os.Exit(run(os.Args[1:]))
}

// run is the whole program: flags, one call, one exit code.
func run(args []string) int {
	say := messages{w: os.Stderr, color: colored(os.Stderr)}
	o, err := parseFlags(args)
	if err != nil {
		say.line("", err.Error())
		return exitFailed
	}
	say.quiet = o.quiet
	switch {
	case o.help:
		io.WriteString(os.Stdout, help)
		return 0
	case o.version:
		io.WriteString(os.Stdout, version())
		return 0
	}

	call := &o.call
	call.Argv = o.rest
	call.Stdin, call.Stdout, call.Stderr = os.Stdin, os.Stdout, os.Stderr
	call.Capture = o.json && !call.DryRun
	if len(call.Argv) == 0 {
		say.line("", "no tool named (wrap [flags] TOOL [ARG...]; wrap --help says more)")
		return exitFailed
	}
	s := exec.New(exec.Options{Launcher: true, Logger: logger(o, say.color)})
	report, err := runCall(s, o)
	if !o.json {
		say.report(report, err)
	}
	if o.explain {
		if _, err := os.Stdout.Write(report.Explain()); err != nil {
			say.line("", "stdout: "+argv.Escape(err.Error()))
			return exitFailed
		}
	}
	if o.json {
		if _, err := os.Stdout.Write(report.JSON()); err != nil {
			say.line("", "stdout: "+argv.Escape(err.Error()))
			return exitFailed
		}
	}
	return report.Exit
}

// runCall opens the files that wrap itself needs, runs, and writes the report.
func runCall(s *exec.Supervisor, o *options) (*exec.Report, error) {
	ctx := context.Background()
	if o.hasParams {
		if err := s.ReadParams(&o.call, o.params); err != nil {
			return s.Concluded(&o.call, err), err
		}
	}
	if o.report == "" {
		return s.Run(ctx, &o.call)
	}
	out, err := s.OpenReport(&o.call, o.report)
	if err != nil {
		return s.Concluded(&o.call, err), err
	}
	report, err := s.Run(ctx, &o.call)
	_, werr := out.Write(report.JSON())
	if cerr := out.Close(); werr == nil {
		werr = cerr
	}
	if werr != nil && err == nil {
		err = &exec.SetupError{Op: "--report", Err: werr}
		report.Exit = exitFailed
	}
	return report, err
}

// logger is silent without -v or --log-level.
func logger(o *options, color bool) *slog.Logger {
	if !o.verbose && o.logLevel == "" {
		return nil
	}
	level := slog.LevelInfo
	if o.logLevel != "" {
		level.UnmarshalText([]byte(o.logLevel)) // one of four checked words
	}
	return slog.New(tint.NewTextHandler(os.Stderr, &tint.Options{Level: level, NoColor: !color, TimeFormat: "15:04:05.000"}))
}

// colored reports whether f is a terminal that may be coloured
// (https://no-color.org).
func colored(f *os.File) bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// messages writes wrap's own lines: one each, escaped by whoever made them.
type messages struct {
	w     io.Writer
	color bool
	quiet bool
}

func (m *messages) line(kind, text string) {
	prefix := "wrap: "
	if kind != "" {
		if m.color {
			kind = "\x1b[1m" + kind + "\x1b[0m"
		}
		prefix += kind + ": "
	}
	// A message is one line, whoever made it.
	io.WriteString(m.w, prefix+strings.ReplaceAll(text, "\n", `\n`)+"\n")
}

// report says what the caller must know: refusals with their help, errors, and
// once a call what the kernel does not hold.
func (m *messages) report(r *exec.Report, err error) {
	var refused *guard.RefusedError
	switch {
	case errors.As(err, &refused):
		for _, ref := range r.Refusals {
			m.line("refused", ref.Message)
			if ref.Remedy != nil && !m.quiet {
				m.line("help", ref.Remedy.Message)
			}
		}
	case err != nil:
		m.line("", err.Error())
	case r.Error != "":
		m.line("", r.Error)
	}
	if m.quiet {
		return
	}
	for _, n := range r.Notes {
		m.line("note", n)
	}
}

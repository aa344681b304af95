package main

import "runtime/debug"

const help = `wrap runs a command-line tool, judged first and held to it by the kernel.

usage: wrap [flags] [--] TOOL [ARG...]
       wrap [flags] --params JSON TOOL [SUBCOMMAND]    JSON is literal, @FILE or -

where it works
  --readonly           the tool may change nothing
  --root DIR           what it may touch (default: the current directory)
  --workdir DIR        start in DIR, beneath the root
  --ro PATH, --rw PATH also open PATH, to read or to change (repeatable)
  --deny PATH          keep PATH closed, whatever is granted (repeatable)
how it is held
  --net none|all       network (default: none)
  --cage auto|require|off
                       auto: run and say what is missing (known tools);
                       require: refuse where the cage is not whole (others)
  --tmp private|shared a temporary directory of its own, or the system's
  --env NAME[=VALUE]   pass or set a variable (repeatable)
  --timeout D          end it after D, as in 30s: TERM, then KILL
  --grace D            time between the two (default: 2s)
  --no-breaker         neither ask nor tell the tool's circuit breaker
what it says
  --dry-run            judge, run nothing; exit 0 or the refusal's code
  --explain, --json    the whole judgement, for a person or a program
  --report FILE|fd:N   write that JSON beside an ordinary run
  --log-level LEVEL, -v, -q, --version, --help

exit: the tool's own; 128+n signal; 124 timeout; 125 wrap failed or bad call;
126 refused or not executable; 127 not found; 75 circuit open

examples
  wrap --readonly cat notes.txt
  wrap --ro /etc/hosts --dry-run --explain grep -r localhost /etc/hosts .
  wrap --params '{"file":["a.txt"],"number":true}' cat
`

// version is the module's version as the build recorded it.
func version() string {
	v, rev := "(devel)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			v = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				rev = " " + s.Value
			}
		}
	}
	return "wrap " + v + rev + "\n"
}

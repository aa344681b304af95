package exec

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/audit"
	"github.com/wrapexec/wrap/breaker"
	"github.com/wrapexec/wrap/guard"
)

// conclude makes the report say how the call ended, tells the log, and gives
// back what the breaker lent.
func (r *run) conclude(err error) {
	rep := r.report
	switch e := err.(type) {
	case nil:
	case *guard.RefusedError:
		rep.Verdict, rep.Exit, rep.Refusals = Refused, exitRefused, refusalReports(e.Refusals)
	case *breaker.OpenError:
		rep.Verdict, rep.Exit, rep.Error = CircuitOpen, exitOpen, e.Error()
	case *NotFoundError:
		rep.Verdict, rep.Exit, rep.Error = Failed, exitNotFound, e.Error()
		if e.Found {
			rep.Exit = exitRefused
		}
	case *CallError:
		rep.Verdict, rep.Exit, rep.Error = Malformed, exitFailed, e.Error()
	default:
		rep.Verdict, rep.Exit, rep.Error = Failed, exitFailed, argv.Escape(err.Error())
	}
	if r.ticket != nil {
		r.settle()
	}
	if r.call.DryRun {
		return
	}
	r.tell(err)
}

// tell writes the next record. Where that fails the call goes on, and says once
// that it is not recorded.
func (r *run) tell(err error) {
	if rerr := r.record(err); rerr != nil && !r.untold {
		r.untold = true
		r.note("audit: " + argv.Escape(rerr.Error()) + ": this call is not recorded")
	}
}

// settle reports the outcome to the breaker; a call that did not run gives its
// slot back.
func (r *run) settle() {
	class := breaker.Excluded
	if o := r.outcome; o != nil {
		class = r.count(o)
		o.Counted = class.String()
	}
	if err := r.ticket.Report(class, failure(r.outcome)); err != nil {
		r.note("breaker: " + argv.Escape(err.Error()))
	}
}

// failure says in a few words how a run ended, for the message of an open circuit.
func failure(o *Outcome) string {
	switch {
	case o == nil:
		return ""
	case o.Kind == Signaled:
		return "died of signal " + o.Signal
	case o.Kind == SpawnFailed:
		return "could not be started"
	default:
		return "exit code " + strconv.Itoa(o.Code)
	}
}

// count is the class of an outcome: what it says of the installed tool's
// health. The table is DESIGN.md's, 'breaker'.
func (r *run) count(o *Outcome) breaker.Class {
	// A program beneath the root, or one that runs other people's code, says
	// nothing of itself by how it ends; that it started does not either.
	foreign := r.overlay == nil || r.overlay.Command.Health == "spawn"
	switch o.Kind {
	case SpawnFailed:
		if o.Code == exitFailed {
			return breaker.Excluded // the cage or the machine failed, not the tool
		}
		return breaker.Failure
	case TimedOut, Cancelled:
		return breaker.Excluded // the limit was the caller's own
	case Signaled:
		if foreign || o.ours || o.Signal == "PIPE" {
			return breaker.Excluded
		}
		return breaker.Failure
	}
	if o.Code == 0 {
		return breaker.Success
	}
	if foreign {
		return breaker.Excluded
	}
	for _, e := range r.inv.Command.Exits {
		if e.Code != o.Code {
			continue
		}
		switch e.Mean {
		case "ok", "answer":
			return breaker.Success
		case "failure":
			return breaker.Failure
		}
	}
	return breaker.Excluded
}

// record writes the call's next record: its decision before it starts, its
// outcome after it ended, or the refusal in place of both.
func (r *run) record(err error) error {
	if r.s.stateErr != nil {
		return r.s.stateErr
	}
	if r.log == nil {
		log, oerr := audit.Open(r.s.stateDir)
		if oerr != nil {
			return oerr
		}
		r.log = log
	}
	rep := r.report
	rec := &audit.Record{
		Kind: audit.Decision, Call: r.callID, Verdict: string(rep.Verdict), Error: rep.Error,
		Root: rep.Root, Mode: rep.Mode,
	}
	if rep.Workdir != rep.Root {
		rec.Workdir = rep.Workdir
	}
	if t := rep.Tool; t != nil {
		rec.Tool, rec.Module, rec.Path, rec.Overlay = t.Name, t.Module, t.Path, t.Overlay
	}
	argv := rep.Argv
	if argv == nil {
		argv = r.call.Argv
	}
	rec.Argc, rec.ArgvSHA256 = len(argv), audit.ArgvDigest(argv)
	switch {
	case r.outcome != nil:
		// Everything else stands in the decision of the same call.
		o := r.outcome
		*rec = audit.Record{
			Kind: audit.Outcome, Call: r.callID, Verdict: string(rep.Verdict), Error: rep.Error,
			Tool: rec.Tool, Module: rec.Module,
			Result: &audit.Result{
				Kind: o.Kind, Code: o.Code, Signal: o.Signal, Counted: o.Counted, DurationMS: o.DurationMS,
				MaxRSSKiB: o.MaxRSSKiB, LeftBehind: o.LeftBehind, Quarantined: o.Quarantined,
			},
		}
	case err != nil:
		rec.Kind = audit.Refusal
		for _, ref := range rep.Refusals {
			rec.Refusals = append(rec.Refusals, audit.Reason{Code: string(ref.Code), Message: ref.Message})
		}
	default:
		rec.Verdict = string(Allowed)
	}
	if rec.Kind != audit.Outcome {
		r.detail(rec)
	}
	return r.log.Append(rec)
}

// detail copies the judgement.
func (r *run) detail(rec *audit.Record) {
	rep := r.report
	for i, o := range rep.Operands {
		ao := audit.Operand{Arg: o.Arg, Kind: o.Kind, Face: o.Face, Resolved: o.Resolved, Role: o.Role}
		if n := r.decision.Operands[i].Nlink; n > 1 {
			ao.Nlink = n
		}
		rec.Operands = append(rec.Operands, ao)
	}
	for _, l := range rep.Layers {
		rec.Layers = append(rec.Layers, audit.Layer(l))
	}
	if c := rep.Cage; c != nil {
		rec.Cage = &audit.Cage{Scope: c.Scope, Net: c.Net, Enforced: c.Enforced, Missing: c.Missing}
	}
	rec.Notes = rep.Notes
}

// admit asks the breaker, after the guard: a refused call never takes the probe.
func (r *run) admit() error {
	if r.call.NoBreaker || r.s.stateErr != nil {
		return nil
	}
	key := breaker.Key{
		Module: r.inv.Module, Path: r.file.Real, Dev: r.file.Dev, Ino: r.file.Ino, Root: r.root.Path(), Class: "caller",
	}
	if key.Module == "" {
		key.Module = r.tool.Name
	}
	t, err := breaker.Open(filepath.Join(r.s.stateDir, breaker.DirName), breaker.Options{}).Admit(key, r.call.Timeout)
	if err != nil {
		return err // an *breaker.OpenError
	}
	if t.Warning != nil {
		r.note("breaker: " + argv.Escape(t.Warning.Error()))
	}
	r.ticket = t
	return nil
}

// childHome is where a child looks for its configuration: $HOME, which it is
// given as the caller has it, or the passwd entry's.
func (s *Supervisor) childHome() string {
	if n := len(s.homes); n > 0 {
		return s.homes[n-1]
	}
	return s.home
}

// homes are the home of the caller's passwd entry, and all that $HOME adds.
func homes(environ []string) (home string, all []string) {
	if h, ok := guard.Home(os.Geteuid()); ok {
		home, all = h, []string{h}
	}
	if h, ok := lookup(environ, "HOME"); ok && strings.HasPrefix(h, "/") && h != home {
		all = append(all, h)
		if home == "" {
			home = h
		}
	}
	return home, all
}

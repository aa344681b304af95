package exec

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/exec/cage"
	"github.com/wrapexec/wrap/guard"
)

// parse makes the argv that will be executed and says what it means.
func (r *run) parse() error {
	r.argv = r.call.Argv
	if r.call.Params != nil {
		if r.overlay == nil {
			return &CallError{argv.Quote(r.call.Argv[0]) + " has no overlay: its parameters are not known, give it an argv"}
		}
		rendered, err := argv.Render(&r.overlay.Command, r.call.Argv[1:], r.call.Params)
		if err != nil {
			return &CallError{argv.Escape(err.Error())}
		}
		r.argv = rendered
		for i, a := range rendered {
			if len(a) > maxArg {
				return &CallError{"parameter " + argv.Quote(paramOf(r, i)) + " is too long for one argument"}
			}
		}
	}
	r.report.Argv = r.argv
	var err error
	if r.overlay == nil {
		r.inv, err = argv.Unknown(r.argv)
	} else {
		r.inv, err = argv.Parse(&r.overlay.Command, r.argv)
	}
	if err != nil {
		return &CallError{argv.Escape(err.Error())}
	}
	r.report.Tool.Module = r.inv.Module
	if un := r.inv.Unexplained; r.overlay != nil && len(un) > 0 {
		r.note(argv.Quote(r.call.Argv[0]) + ": " + argv.Quote(un[0].Token) + " is not explained (" + argv.Escape(un[0].Why) +
			"): held like an unknown tool, with protected names read-only")
	}
	return nil
}

// paramOf names the parameter that argument i was rendered from.
func paramOf(r *run, i int) string {
	inv, err := argv.Parse(&r.overlay.Command, r.argv)
	if err != nil {
		return ""
	}
	for _, s := range inv.Set {
		if s.Arg == i || s.Arg == i-1 {
			return s.Key
		}
	}
	return ""
}

// unknownProfiles are the system paths of a cage with scope root.
var unknownProfiles = []string{"base", "locale", "tz", "nss", "term", "tls", "git", "programs"}

// decide asks the guard.
func (r *run) decide() error {
	var refusals []*guard.Refusal
	for _, kv := range r.call.Env {
		if ref := judgeEnv(kv, r.tool.Name, r.overlay); ref != nil {
			refusals = append(refusals, ref)
		}
	}
	names := unknownProfiles
	if r.overlay != nil {
		names = r.overlay.Profiles
		if guard.ScopeOf(r.tool, r.inv) == guard.ScopeRoot {
			names = append(append([]string{}, names...), unknownProfiles...)
		}
	}
	if r.call.Net == guard.NetAll {
		names = append(slices.Clip(names), "net", "tls")
	}
	if !r.call.SharedTmp && r.needsTmp() {
		var err error
		if r.tmp, err = nameTmp(r.root.Path()); err != nil {
			return &SetupError{"private temporary directory", err}
		}
	}
	req := r.request()
	req.Call, req.Tool, req.Tmp = r.inv, r.tool, r.tmp
	req.Profiles = cage.Profiles(names, r.s.childHome())
	if r.call.SharedTmp {
		shared, err := r.sharedTmp()
		if err != nil {
			return err
		}
		req.Profiles = append(req.Profiles, shared)
	}
	d, err := guard.Decide(req)
	r.decision = d
	if d != nil {
		r.describe(d)
	}
	if err != nil {
		err = callOrRefused(err)
		if re, ok := errors.AsType[*guard.RefusedError](err); ok {
			re.Refusals = append(refusals, re.Refusals...)
		}
		return err
	}
	if len(refusals) > 0 {
		return &guard.RefusedError{Refusals: refusals}
	}
	return nil
}

// sharedTmp opens the system's temporary directory. A root in it would be open
// with it, whatever the mode.
func (r *run) sharedTmp() (guard.Rule, error) {
	dir, ok := lookup(r.s.environ, "TMPDIR")
	if !ok || !strings.HasPrefix(dir, "/") {
		dir = tmpDirs[0]
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return guard.Rule{}, &CallError{"--tmp shared: " + argv.Escape(err.Error())}
	}
	if beneath(r.root.Path(), real) {
		return guard.Rule{}, &CallError{"--tmp shared: the root lies in " + argv.Quote(real) + ", which would open all of it (use --tmp private)"}
	}
	return guard.Rule{Path: real, Handle: -1, Rights: readRights | writeRights&^(guard.MakeChar|guard.MakeBlock)}, nil
}

// needsTmp is whether the call gets a temporary directory: always, but for a tool
// whose verified description has no use for one. Making and removing it costs
// as much as all of the judgement.
func (r *run) needsTmp() bool {
	return r.overlay == nil || guard.ScopeOf(r.tool, r.inv) == guard.ScopeRoot || slices.Contains(r.overlay.Profiles, "tmp")
}

// describe copies the judgement into the report.
func (r *run) describe(d *guard.Decision) {
	r.report.Mode = modeName(d.Mode)
	for _, v := range d.Operands {
		o := OperandReport{
			Arg: v.Arg, Text: v.Text, Kind: string(v.Kind), Resolved: v.Resolved, Exists: v.Exists, Role: string(v.Role),
		}
		if v.Kind == argv.Path || v.Kind == argv.Rev {
			o.Face = v.Face.String()
		}
		r.report.Operands = append(r.report.Operands, o)
	}
	for _, l := range d.Layers {
		r.report.Layers = append(r.report.Layers, LayerReport(l))
	}
	r.report.Notes = append(r.report.Notes, d.Notes...)
	r.report.Cage = cageReport(&d.Cage, d.Enforced, d.Missing)
}

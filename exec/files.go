package exec

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/exec/cage"
	"github.com/wrapexec/wrap/guard"
)

// maxParams bounds the JSON of --params.
const maxParams = 16 << 20

// ReadParams sets call.Params from text: a JSON literal, @FILE, or - for
// stdin, which the child then does not get. A file is an operand like any
// other: it is judged, and the error is then a *guard.RefusedError.
func (s *Supervisor) ReadParams(call *Call, text string) error {
	var in io.Reader
	name, isFile := strings.CutPrefix(text, "@")
	switch {
	case text == "-":
		if call.Stdin == nil {
			return &CallError{"--params -: there is no stdin"}
		}
		in, call.Stdin = call.Stdin, nil
	case isFile:
		f, err := s.open(call, name, "--params", argv.Value{Kind: argv.Path, Face: argv.Read})
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	default:
		call.Params = []byte(text)
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(in, maxParams+1))
	if err != nil {
		return &CallError{"--params: " + argv.Escape(err.Error())}
	}
	if len(b) > maxParams {
		return &CallError{fmt.Sprintf("--params: more than %d bytes of JSON", maxParams)}
	}
	call.Params = b
	return nil
}

// OpenReport opens where a report goes: fd:N, or a file, which is judged as a
// written operand of the call.
func (s *Supervisor) OpenReport(call *Call, name string) (*os.File, error) {
	number, isFD := strings.CutPrefix(name, "fd:")
	if !isFD {
		return s.open(call, name, "--report", argv.Value{Kind: argv.Path, Face: argv.Write, Effect: argv.Overwrite})
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err == nil {
		var flags int
		if flags, err = unix.FcntlInt(uintptr(n), unix.F_GETFL, 0); err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY {
			err = unix.EBADF
		}
	}
	if err != nil {
		return nil, &CallError{"--report " + argv.Quote(name) + ": expected a descriptor that is open for writing, as in fd:3"}
	}
	// Marked, so that the child does not get it.
	unix.CloseOnExec(int(n))
	return os.NewFile(uintptr(n), name), nil
}

// open opens a file that wrap itself uses for the caller, after the guard has
// judged it by the same rules as an operand of the tool.
func (s *Supervisor) open(call *Call, name, flag string, value argv.Value) (*os.File, error) {
	abs, err := filepath.Abs(name)
	if name == "" || err != nil {
		return nil, &CallError{flag + " " + argv.Quote(name) + ": expected a path"}
	}
	if strings.HasSuffix(name, "/") {
		abs += "/"
	}
	r := &run{s: s, call: call, report: &Report{}}
	defer r.close()
	if err := r.openRoot(); err != nil {
		return nil, err
	}
	req := r.request()
	req.Tool = guard.Tool{Name: "wrap", Overlay: "wrap", Verified: true}
	req.Call = &argv.Invocation{
		Tool: "wrap", Module: "wrap", Argv: []string{"wrap"}, Command: &argv.Command{Name: "wrap"},
		Operands: []argv.Operand{{Arg: -1, Flag: flag, Key: flag, Text: abs, Value: value}},
	}
	if r.decision, err = guard.Decide(req); err != nil {
		return nil, callOrRefused(err)
	}
	f, err := openVerdict(&r.decision.Operands[0], value.Face)
	if err != nil {
		return nil, &CallError{flag + " " + argv.Quote(name) + ": " + argv.Escape(err.Error())}
	}
	return f, nil
}

// callOrRefused keeps a refusal; what else the guard says is the caller's
// mistake.
func callOrRefused(err error) error {
	if re, ok := errors.AsType[*guard.RefusedError](err); ok {
		return re
	}
	return &CallError{argv.Escape(err.Error())}
}

// request is the part of the guard's question that is the same for every
// operand of the call.
func (r *run) request() *guard.Request {
	return &guard.Request{
		Root: r.root, Workdir: r.workdir, Mode: r.call.Mode,
		Policy: guard.Policy{
			Grants: r.call.Grants, Deny: r.call.Deny, Own: r.s.own(), Homes: r.s.homes, UID: os.Geteuid(),
		},
		Net: r.call.Net, Cage: r.call.Cage, Kernel: cage.Probe(),
	}
}

// Concluded is the report of a call that ended before Run, with err.
func (s *Supervisor) Concluded(call *Call, err error) *Report {
	r := &run{s: s, call: call, report: &Report{Schema: 1, wouldBe: call.DryRun}, callID: newID()}
	defer r.close()
	r.conclude(err)
	return r.report
}

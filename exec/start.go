package exec

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/exec/cage"
	"github.com/wrapexec/wrap/guard"
	"github.com/wrapexec/wrap/guard/path"
)

// spawn runs the judged argv in the judged directory, under the judged cage,
// and takes down how it ended.
func (r *run) spawn(ctx context.Context) error {
	c := r.call
	if r.tmp != "" {
		if err := os.Mkdir(r.tmp, 0o700); err != nil {
			return &SetupError{"private temporary directory", err}
		}
		defer func() {
			if err := os.RemoveAll(r.tmp); err != nil {
				r.note("the call's temporary directory is left behind: " + argv.Escape(err.Error()))
			}
		}()
	}
	for i, f := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		// It would lead around a private view of the mounts.
		if info, err := statFile(f); err == nil && info.IsDir() {
			return &CallError{"standard descriptor " + strconv.Itoa(i) + " is a directory"}
		}
	}
	if r.s.beforeStart != nil {
		r.s.beforeStart()
	}
	env := environment{
		caller: r.s.environ, set: c.Env, overlay: r.overlay, path: r.file.PATH, tmp: r.tmp, pwd: r.workdir.Path(),
	}
	spec := &spawnSpec{
		path: r.tool.Path, argv: r.argv, env: env.build(), dirfd: r.workdir.FD(),
		files:   [3]*os.File{c.Stdin, c.Stdout, c.Stderr},
		capture: c.Capture, maxOutput: c.MaxOutput,
		launcher: r.s.launcher, subreaper: r.s.launcher,
	}
	if spec.maxOutput == 0 {
		spec.maxOutput = defaultMaxOutput
	}
	r.confine(spec, r.withStdin(), r.decision.Handles())
	if m := r.decision.Missing; r.call.Cage == guard.CageOff {
		r.note("no cage holds this call (--cage off)")
	} else if !guard.Whole(m) {
		r.note("the cage is not whole: this system does not hold " + join(m))
	}
	res, err := spec.run(ctx, limits{timeout: c.Timeout, grace: c.Grace})
	r.outcome = &res.outcome
	r.report.Outcome = r.outcome
	if err != nil {
		return r.spawnError(err)
	}
	if res.stdout != nil {
		r.report.Output = &OutputReport{Stdout: res.stdout.report(), Stderr: res.stderr.report()}
	}
	r.report.Verdict, r.report.Exit = Allowed, r.outcome.ExitCode()
	if r.outcome.Kind == TimedOut {
		r.report.Error = "timed out after " + c.Timeout.String()
	}
	if res.survivors > 0 {
		r.note("some processes of the call could not be ended")
	}
	return nil
}

func statFile(f *os.File) (os.FileInfo, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return f.Stat()
}

// withStdin is the cage with the file behind stdin in it, if an operand names
// stdin by path: to open /dev/stdin is to open that file anew, which a cage
// denies otherwise. A pipe or a terminal needs no rule.
func (r *run) withStdin() *guard.Cage {
	c := &r.decision.Cage
	if r.call.Stdin == nil {
		return c
	}
	for i := range r.inv.Operands {
		if n, ok := path.Stream(r.inv.Operands[i].Text); ok && n == 0 {
			with := *c
			with.Rules = append(slices.Clip(c.Rules), guard.Rule{
				Path: "/proc/self/fd/" + strconv.Itoa(int(r.call.Stdin.Fd())), Handle: -1, Rights: guard.ReadFile,
			})
			return &with
		}
	}
	return c
}

// confine plans the cage for the child's thread. With --cage off there is none,
// and the report says so.
func (r *run) confine(spec *spawnSpec, c *guard.Cage, handles []int) {
	if r.call.Cage == guard.CageOff {
		return
	}
	dirfd := spec.dirfd
	spec.confine = func() error { return cage.Confine(c, handles, dirfd) }
	spec.scoped = cage.Probe().Landlock >= 6
}

// spawnError tells the caller's mistakes from the tool's and from ours. Nothing
// of the tool has run.
func (r *run) spawnError(err error) error {
	se, ok := errors.AsType[*spawnError](err)
	if !ok {
		return &SetupError{"start", err}
	}
	name := argv.Quote(r.call.Argv[0])
	switch {
	case se.stage == stageCanceled:
		return &SetupError{"start", err}
	case errors.Is(err, syscall.E2BIG):
		r.outcome.Kind = Cancelled // says nothing of the tool
		return &CallError{name + ": the arguments and the environment together are longer than the kernel takes (execve(2), E2BIG)"}
	case se.stage == stageExec && se.exitCode() == exitNotFound:
		return &NotFoundError{Msg: name + ": " + argv.Escape(se.Error())}
	case se.stage == stageExec && se.exitCode() == exitRefused:
		return &NotFoundError{Msg: name + ": " + argv.Escape(se.Error()), Found: true}
	}
	return &SetupError{name, errors.New(argv.Escape(se.Error()))}
}

// probeRun runs the variant probe of a tool, captured, in an empty directory.
func (r *run) probeRun(ctx context.Context, c *guard.Cage, dir *guard.Root, args, env []string) ([]byte, error) {
	spec := &spawnSpec{
		path: r.tool.Path, argv: args, env: env, dirfd: dir.FD(), capture: true, maxOutput: maxProbe,
		subreaper: r.s.launcher,
	}
	handles := []int(nil)
	dirfd := dir.FD()
	spec.confine = func() error { return cage.Confine(c, handles, dirfd) }
	spec.scoped = cage.Probe().Landlock >= 6
	res, err := spec.run(ctx, limits{timeout: probeTimeout})
	if err != nil {
		return nil, err
	}
	if res.outcome.Kind != Exited {
		return nil, errors.New(strings.Join(args, " ") + " was " + res.outcome.Kind)
	}
	return append(res.stdout.data(), res.stderr.data()...), nil
}

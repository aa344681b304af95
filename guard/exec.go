package guard

import (
	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/guard/path"
)

// JudgeExec judges a file that the call would execute: the program, or an
// interpreter that a script names. It is run and read, so what is denied, and
// what nobody may read by its role, is a *Refusal. Any other error is that of
// Decide, or says why the file could not be looked at.
//
// It does not say that the program is the one that its name promises: that is
// the matching rule of package overlays.
func JudgeExec(req *Request, name string) error {
	j, err := newJudge(req)
	if err != nil {
		return err
	}
	f, err := path.Resolve(path.Dir{FD: -1, Path: "/"}, name, path.Follow)
	if err != nil {
		return err
	}
	defer f.Close()
	op := argv.Operand{Arg: 0, Text: name, Value: argv.Value{Kind: argv.Path, Face: argv.Read | argv.Exec}}
	u := use{file: f, text: name, face: argv.Read | argv.Exec}
	if ref := j.closedAt(&op, &u, j.role(f)); ref != nil {
		return ref
	}
	return nil
}

//go:build !linux

package exec

import (
	"context"
	"errors"
	"os"
	"runtime"
)

// run fails: starting a tool, and ending all that it starts, is built for Linux
// only (threads that can be restricted alone, pidfds, subreapers).
func (spec *spawnSpec) run(context.Context, limits) (*result, error) {
	err := &spawnError{
		stage: stagePlatform,
		err:   errors.New("running a tool is not supported on " + runtime.GOOS),
	}
	return &result{outcome: err.outcome()}, err
}

// growPipe does nothing: the size of a pipe is Linux's to set.
func growPipe(*os.File) {}

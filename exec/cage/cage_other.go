//go:build !linux

package cage

import (
	"errors"

	"github.com/wrapexec/wrap/guard"
)

// Probe is the zero Kernel here: nothing can be enforced.
func Probe() guard.Kernel { return guard.Kernel{} }

// Confine fails here: there is nothing to confine a thread with.
func Confine(*guard.Cage, []int, int) error {
	return &Error{StageThread, errors.ErrUnsupported}
}

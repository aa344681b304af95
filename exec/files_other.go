//go:build !linux

package exec

import (
	"errors"
	"os"
	"runtime"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/guard"
)

// openVerdict fails: opening exactly the file that was judged is built for
// Linux only (openat2(2)).
func openVerdict(*guard.Verdict, argv.Face) (*os.File, error) {
	return nil, errors.New("files of wrap's own are not supported on " + runtime.GOOS)
}

//go:build !linux

package breaker

import (
	"os"

	"golang.org/x/sys/unix"
)

// self names this process, by its number only: there is no boot id here, and a
// start time would need a system's own interface.
func self() process { return process{PID: os.Getpid()} }

// alive reports whether a process of the number runs, which may be another one:
// then its lease lasts until its window is over.
func (p process) alive() bool { return p.PID > 0 && unix.Kill(p.PID, 0) != unix.ESRCH }

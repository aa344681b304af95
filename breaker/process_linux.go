package breaker

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// self names this process.
func self() process {
	p := process{PID: os.Getpid()}
	p.Start, _ = startTime(p.PID)
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		p.Boot = strings.TrimSpace(string(b))
	}
	return p
}

// alive reports whether the process still runs: one of its number does, and
// began at the same time. A zombie has ended.
func (p process) alive() bool {
	if p.PID <= 0 {
		return false
	}
	start, zombie := startTime(p.PID)
	if start == 0 { // no /proc, or no such process
		return unix.Kill(p.PID, 0) != unix.ESRCH
	}
	return !zombie && (p.Start == 0 || p.Start == start)
}

// startTime reads fields 22 and 3 of /proc/PID/stat (proc_pid_stat(5)), 0 where
// there is none.
func startTime(pid int) (ticks uint64, zombie bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// Field 2 is the name in brackets, which may hold blanks and brackets.
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 {
		return 0, false
	}
	ticks, _ = strconv.ParseUint(string(f[19]), 10, 64)
	return ticks, f[0][0] == 'Z' || f[0][0] == 'X'
}

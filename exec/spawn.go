package exec

import "os"

// spawnSpec says what to start and how. What it holds stays the caller's.
type spawnSpec struct {
	// path is the file to execute: absolute, resolved, never searched for.
	path      string
	argv, env []string
	// dirfd becomes the working directory, by fchdir(2). 0 or less: the
	// process's own.
	dirfd int
	// files are stdin, stdout and stderr, nil for /dev/null. With capture the
	// last two are pipes of ours instead.
	files     [3]*os.File
	capture   bool
	maxOutput int64 // kept of each captured stream
	// passFds are further descriptors, from 3 up; the child has them under the
	// same numbers, and no others.
	passFds []int
	// confine restricts the calling thread, from which the child is forked. It
	// runs after everything is open. nil restricts nothing.
	confine func() error
	// scoped: confine puts the thread into a Landlock domain with a signal
	// scope (ABI 6), which then tells this call's orphans from others'.
	scoped bool
	// launcher: this process exists for one call. Signals are forwarded, the
	// terminal is handed over, and every orphan that comes to us is the call's.
	launcher bool
	// subreaper has orphans come to us instead of to init (prctl(2),
	// PR_SET_CHILD_SUBREAPER). It stays on: it is the process's. Without it only
	// the child's process group and what descends from it can be ended.
	subreaper bool
	// keepBackground leaves what outlives the child running.
	keepBackground bool
}

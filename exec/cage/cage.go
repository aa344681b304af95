// Package cage has the kernel hold a program to a guard.Cage: Landlock for
// files, TCP and scopes, a seccomp filter for what Landlock has no right for,
// dropped capabilities, and, where the cage asks for it, a mount namespace in
// which all but the granted paths is read-only.
//
// It is applied to the calling operating-system thread, and the children of
// that thread inherit it; the rest of the process stays free. Probe says what
// this kernel can do, Profiles which system paths a tool's profiles open.
// What a kernel cannot do is left out, not refused: guard.Cage.Enforced names
// what is missing, and it is the guard that decides whether the call may run.
//
// It does not protect against: descriptors that the child inherits (a
// directory as stdin leads into the mounts outside the namespace, a datagram
// socket can be written to); code that may be read being run without the right
// to execute (ld.so FILE, memfd_create); hard links; signals on kernels before
// Landlock ABI 6; timing, and use of processor, memory and disk.
//
// Everything but Profiles is for Linux, with the filter for amd64 and arm64.
// Elsewhere Probe reports nothing and Confine fails.
package cage

// Stage names a step of Confine.
type Stage string

// The stages, in their order.
const (
	StageThread     Stage = "thread"
	StageDirectory  Stage = "directory"
	StageRules      Stage = "rules"
	StageMounts     Stage = "mounts"
	StageCaps       Stage = "capabilities"
	StageNoNewPrivs Stage = "no_new_privs"
	StageLandlock   Stage = "landlock"
	StageSeccomp    Stage = "seccomp"
)

// Error says at which stage Confine failed. Err wraps the errno, if there is
// one, and names the system call.
type Error struct {
	Stage Stage
	Err   error
}

// Error is one line without a full stop.
func (e *Error) Error() string { return "cage: " + string(e.Stage) + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

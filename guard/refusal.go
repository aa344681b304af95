package guard

import (
	"errors"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/guard/path"
)

// ErrRefused is what every governance refusal is: errors.Is(err, ErrRefused)
// tells it from a failure of wrap and from a malformed call.
var ErrRefused = errors.New("refused")

// Code names a refusal for machines. Codes are stable; docs/codes.md lists
// them with their meaning.
type Code string

// The codes in use.
const (
	CodeOutsideRoot     Code = "path.outside_root"
	CodeDenied          Code = "path.denied"
	CodeCredential      Code = "path.credential"
	CodeTrustFile       Code = "path.trust_file"
	CodeTrustRoot       Code = "path.trust_root"
	CodeSystemIntegrity Code = "path.system_integrity"
	CodeRawDevice       Code = "path.raw_device"
	CodeForeignTemp     Code = "path.foreign_temp"
	CodeUnconfined      Code = "path.unconfined"
	CodeUnresolvable    Code = "path.unresolvable"
	CodeHardLink        Code = "path.hard_link"
	CodeRootTooWide     Code = "root.too_wide"
	CodeReadOnly        Code = "mode.readonly"
	CodeUnexplained     Code = "argv.unexplained"
	CodeProgram         Code = "argv.program"
	CodeUnknownTool     Code = "tool.unknown"
	CodeCage            Code = "cage.unavailable"
	CodeWidens          Code = "flag.widens"
)

// Refusal is one reason why a call may not run. Every message, JSON form and
// hook answer is a rendering of this value.
type Refusal struct {
	Code Code
	// Reason is the reach reason ("Credential", "OutsideWorkspace", …) or
	// "ReadOnly", "Program", "Cage".
	Reason string
	// Arg is the operand's place in argv, -1 where none is at fault.
	Arg int
	// Text is the operand in the caller's spelling, Path what it resolved to.
	Text, Path string
	Face       argv.Face
	Role       path.Role
	// Message is one escaped line without a prefix.
	Message string
	// Remedy is nil where nothing would help. It was tried.
	Remedy *Remedy
}

// Error is the message.
func (r *Refusal) Error() string { return r.Message }

// Is makes errors.Is(r, ErrRefused) true.
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// Remedy is a change that flips the verdict: it was computed by deciding again
// with the change applied.
type Remedy struct {
	// Kind is "flag", "policy" or "argv".
	Kind string
	// Who can apply it: "caller" or "owner".
	Who string
	// Change is the change itself ("add --ro /x"), Message the whole help line.
	Change, Message string
}

// RefusedError is the answer to a call that is refused for one or more
// reasons, in argv order.
type RefusedError struct{ Refusals []*Refusal }

// Error is the first refusal's message.
func (e *RefusedError) Error() string {
	if len(e.Refusals) == 0 {
		return ErrRefused.Error()
	}
	return e.Refusals[0].Message
}

// Is makes errors.Is(e, ErrRefused) true, also without any refusal listed.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Unwrap is the first refusal, for errors.AsType.
func (e *RefusedError) Unwrap() error {
	if len(e.Refusals) == 0 {
		return nil
	}
	return e.Refusals[0]
}

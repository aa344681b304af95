// Package guard makes the decision about a call: may this tool, with this
// argv, run in this root, and what may the kernel let it do.
//
// It resolves every path operand from the root's descriptor, judges what the
// descriptor names, and returns a Decision that owns the descriptors and the
// cage built from them, or a refusal that says which operand is at fault and
// what would help. It runs nothing and writes nothing.
//
// It does not protect against: files changed by other processes of the same
// user between the decision and the run, unless the cage holds the child;
// hard links; what a tool does with the bytes that it may read.
package guard

// Mode is the access mode under which every operand is checked.
type Mode uint8

// The modes. The zero Mode is the strict one.
const (
	ReadOnly Mode = iota
	ReadWrite
)

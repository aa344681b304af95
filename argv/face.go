package argv

import "strings"

// Face is how an operand is used: a set of the four bits below. The zero Face
// means "not known" and is judged as every face at once.
type Face uint8

// The faces.
const (
	// Read: the bytes (or, for a directory, the names) are disclosed.
	Read Face = 1 << iota
	// Write: bytes change under the name, or the name comes into being.
	Write
	// Rebind: what the name means changes; it is deleted, moved away, or
	// replaced by a link.
	Rebind
	// Exec: the file is run, or interpreted as a program.
	Exec
)

// Mutates reports whether f changes anything.
func (f Face) Mutates() bool { return f == 0 || f&(Write|Rebind) != 0 }

// String names the bits, joined by "+"; "unknown" for the zero Face.
func (f Face) String() string {
	if f == 0 {
		return "unknown"
	}
	var parts []string
	for i, name := range [...]string{"read", "write", "rebind", "exec"} {
		if f&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	return strings.Join(parts, "+")
}

// Effect says by which means a tool changes what an operand names, so that
// the cage can allow exactly that. It is a set; the zero Effect changes
// nothing.
type Effect uint16

// The effects. What each needs of the kernel is the guard's knowledge.
const (
	// Overwrite: the name is opened for writing, and created if absent.
	Overwrite Effect = 1 << iota
	// Replace: the name is unlinked or renamed over, and made anew; also a
	// temporary or backup file beside it.
	Replace
	// MakeDir: the name is created as a directory.
	MakeDir
	// MakeLink: the name is created as a symbolic link.
	MakeLink
	// HardLink: the file gets a second name, or is moved to another directory.
	HardLink
	// Remove: the name is removed.
	Remove
	// Tree: the other effects happen to everything beneath the name too.
	Tree
	// Attr: mode, owner, times or extended attributes are set.
	Attr
)

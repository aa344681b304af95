// Package path resolves operands by descriptor and says what a path is: its
// region and its role.
//
// Resolution is the kernel's (openat2(2)): links first, ".." after, from a
// descriptor that the caller holds. What the regions are is data
// (regions.toml).
//
// It does not protect against: other names of the same file (hard links, bind
// mounts), which no path shows; what a name comes to mean after it was
// resolved, unless the descriptor is what is used.
package path

import "slices"

// Role is what a path is to the machine and its owner.
type Role string

// The roles, the most protected first. What a role means for each face is the
// guard's rule. The zero Role is that of a name that was not judged.
const (
	RawDevice       Role = "raw-device"       // devices, process memory, all else in /proc, /sys and /dev
	CredentialStore Role = "credential-store" // keys, tokens, password stores
	Own             Role = "own"              // wrap's own files
	SystemIntegrity Role = "system-integrity" // what the system is made of
	TrustRoot       Role = "trust-root"       // a directory of trust files
	TrustFile       Role = "trust-file"       // a file of a home that others execute or obey
	Landmark        Role = "landmark"         // a home, and other directories that must stay what they are
	WorktreeTrusted Role = "worktree-trusted" // the same within a project: .git, .envrc, workflows
	Unknown         Role = "unknown"          // any other place of the machine
	Scratch         Role = "scratch"          // a shared temporary directory
	PackageContent  Role = "package-content"  // what others publish
	Worktree        Role = "worktree"         // the root, and what lies beneath it
	StandardStream  Role = "standard-stream"  // a standard stream, or a device as harmless
)

// order lists the roles, the most protected first.
var order = [...]Role{
	RawDevice, CredentialStore, Own, SystemIntegrity, TrustRoot, TrustFile, Landmark, WorktreeTrusted,
	Unknown, Scratch, PackageContent, Worktree, StandardStream,
}

// Worse is the more protected of two roles. The zero Role is better than all
// others, one that is not known is worse.
func Worse(a, b Role) Role {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	case slices.Index(order[:], b) < slices.Index(order[:], a):
		return b
	}
	return a
}

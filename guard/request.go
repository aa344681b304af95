package guard

import "github.com/wrapexec/wrap/argv"

// Grant opens a further path, with all beneath it, for some faces. It is the
// one type for --ro, --rw, policy files, gate permissions and client roots.
type Grant struct {
	// Path is absolute, or relative to the working directory of the caller.
	Path  string
	Faces argv.Face
	// Source says who granted: "--ro", "--rw", "policy".
	Source string
}

// CageMode says what happens where the cage is not whole.
type CageMode uint8

// The modes. The zero value is require for unknown tools, auto for known ones.
const (
	CageDefault CageMode = iota
	CageAuto
	CageRequire
	CageOff
)

// Policy is what the owner allows: a plain value. The zero Policy grants
// nothing beyond the root.
type Policy struct {
	Grants []Grant
	// Deny are paths (with all beneath) that no grant opens.
	Deny []string
	// Own are wrap's own files and directories: policy, overlays, state,
	// caches, shims, the binaries.
	Own []string
	// Homes are the home directories: of the caller's passwd entry, and $HOME.
	Homes []string
	// UID is the caller's effective user.
	UID int
}

// Tool is what is known of the program that will run.
type Tool struct {
	// Name is the command as the caller gave it, Path the absolute file that
	// will be executed.
	Name, Path string
	// Overlay is "sort@gnu", "" for an unknown tool.
	Overlay string
	// Verified: a truth record covers the installed version.
	Verified bool
	// Execs are the files that may be executed: the program, its loader or
	// interpreter, and what the overlay says it runs.
	Execs []Rule
}

// Request is one call to judge. The zero Request is refused.
type Request struct {
	// Root is where the call works; Workdir is beneath it, nil for the root.
	Root, Workdir *Root
	Mode          Mode
	Call          *argv.Invocation
	Tool          Tool
	Policy        Policy
	Net           Net
	Cage          CageMode
	Kernel        Kernel
	// Profiles are the system paths that the tool's profiles open.
	Profiles []Rule
	// Tmp is the call's private temporary directory, "" for none.
	Tmp string
}

package guard

// Right is a set of access rights to a path and what lies beneath it. The
// bits are those of Landlock's LANDLOCK_ACCESS_FS_* (landlock(7), ABI 5), so
// that a rule is the same number here and in the kernel.
type Right uint16

// The rights.
const (
	Execute Right = 1 << iota
	WriteFile
	ReadFile
	ReadDir
	RemoveDir
	RemoveFile
	MakeChar
	MakeDir
	MakeReg
	MakeSock
	MakeFifo
	MakeBlock
	MakeSym
	Refer
	Truncate
	IoctlDev
)

// Net is how much network the child has. The zero value is none.
type Net uint8

// The networks.
const (
	NetNone Net = iota
	NetAll
)

// Scope says what the cage was built around.
type Scope uint8

// The scopes.
const (
	// ScopeCall: the operands of this call and nothing else of the root.
	ScopeCall Scope = iota
	// ScopeRoot: the whole root, read or read-write by mode.
	ScopeRoot
)

// Rule gives rights to a path and all beneath it.
type Rule struct {
	// Path is for people, and for rules with Handle -1.
	Path string
	// Handle is the index of an open descriptor of the Decision, or -1: then
	// the path is opened when the cage is applied (system paths), links are
	// followed, and a missing one is skipped. Rights that a file cannot have
	// are dropped when the opened path is no directory.
	Handle int
	Rights Right
}

// Cage is what the kernel lets the child do: a plain value that can be
// printed, compared and stored. The zero Cage allows nothing at all.
//
// It does not protect against: code that the tools it lets run contain, within
// these bounds (execute permission is no W^X: ld.so FILE and memfd run what
// can be read); hard links; attribute changes through names outside the rules
// unless NoAttr or Protect applies; timing and resource use.
type Cage struct {
	Scope Scope
	// Rules are the file rights. Everything that no rule names is denied.
	Rules []Rule
	Net   Net
	// Sockets are the paths of Unix sockets that may be connected to. Empty:
	// none, by path or abstract.
	Sockets []string
	// NoAttr: no mode, owner, time, extended attribute or inode flag of any
	// file can be changed.
	NoAttr bool
	// Private: everything but the paths that a rule lets be written is bound
	// read-only in a mount namespace of the call, and so are the paths of
	// Protect: names slash-separated and relative to the child's directory, or
	// absolute.
	Private bool
	Protect []string
	// Caps are the capabilities kept, of those that the caller has, as
	// capability(7) numbers. Empty: none.
	Caps []int
	// Tmp is the call's own temporary directory, "" for the system's.
	Tmp string
}

// Kernel says what this kernel, with these privileges, can enforce. The zero
// Kernel can enforce nothing. exec/cage finds it out; tests make it up.
type Kernel struct {
	// Landlock is the ABI version, 0 where there is none.
	Landlock int
	// Seccomp: filters can be installed.
	Seccomp bool
	// Mounts: a mount namespace of the call's own can be had.
	Mounts bool
}

// Package argv knows the grammar of command lines: it renders parameters to
// an argv and parses an argv back to what it means, both from one description
// of the tool.
//
// It is pure: it opens no file, reads no clock and no environment, and decides
// nothing about policy. Every token of an argv that Parse accepts is explained;
// what it cannot explain it returns as unexplained and guesses nothing.
//
// All types here are plain data. They may be shared between goroutines as long
// as nobody changes them; the package itself never does.
package argv

// Grammar names how a command line is read.
type Grammar uint8

// The grammars.
const (
	// GNU is getopt_long(3) with permutation: options may follow operands,
	// short options cluster, long ones may be abbreviated, "--" ends them.
	GNU Grammar = iota
	// Ordered is GNU, but options end at the first operand, and long options
	// are matched exactly. git reads its global options so.
	Ordered
	// Find is find(1): options, then paths, then an expression whose primaries
	// have long names behind a single dash and are matched exactly.
	Find
	// Git is what git's subcommands do (parse-options and the diff options):
	// permuted, clusters of the short options, no abbreviation guessed.
	Git
)

// Access is a module's readonly annotation. The zero value is unknown, which
// is never taken for read-only.
type Access string

// The values of Access.
const (
	AccessUnknown Access = ""
	Always        Access = "always"   // never writes: the mode is readonly even without the flag
	PerCall       Access = "per-call" // what it does depends on its argv
	Never         Access = "never"    // a writer
)

// Kind is what a value is.
type Kind string

// The kinds.
const (
	None    Kind = ""        // a flag without value
	String  Kind = "string"  // any bytes
	Integer Kind = "integer" // decimal digits with an optional sign
	Number  Kind = "number"
	Enum    Kind = "enum"    // one of Value.Of
	Path    Kind = "path"    // names a file or directory; has a face
	Program Kind = "program" // a command that the tool runs
	Pattern Kind = "pattern" // a glob or regular expression
	Rev     Kind = "rev"     // a git revision or a path: a path if something of that name exists, or if it leaves the root
	Config  Kind = "config"  // a git configuration value (-c name=value): may name a program
)

// Value describes what a flag or an operand carries. The zero Value carries
// nothing.
type Value struct {
	Kind Kind
	// Of lists the words of an Enum. A GNU tool may accept unambiguous
	// abbreviations of them.
	Of []string
	// Name is the placeholder for help and schemas, "FILE".
	Name string

	// For Kind Path (and Rev):

	// Face and Effect say what happens to the named file.
	Face   Face
	Effect Effect
	// Dash is what the word "-" means instead of a file: "" (a file of that
	// name), "stdin", "stdout" or "stdio".
	Dash string
	// Recursive: everything beneath a named directory is used with the face.
	Recursive bool
	// Lists: the file is a list of further paths (nul- or newline-separated)
	// that are used with this face, unseen in the argv.
	Lists Face
	// Names is "sources" if a directory named here receives the base names of
	// the operand called "source", each written with Face and Effect.
	Names string
	// Rebases: paths that follow are relative to this one (git -C).
	Rebases bool
	// Enclosing is a name, ".git": what is meant is then the nearest directory
	// at or above the named one that holds it, as far up as the root. Where none
	// does, it is the named one.
	Enclosing string
	// Sep: the text is a list of names with this between them (file -m a:b).
	// Each is an Operand; empty ones name nothing.
	Sep string
}

// Flag is one option of a tool, or one primary of a find expression.
type Flag struct {
	// Names are all literal spellings: "-o", "--output", "-name".
	Names []string
	// Key is the parameter's name in JSON. Empty: derived from the long name,
	// else the first, by dropping dashes and turning the rest to underscores.
	Key string
	Doc string
	// Value is what it takes; more than one for a primary of arity two.
	Values []Value
	// Optional: the value may be missing, and is given attached only
	// ("--color=never", "-i.bak").
	Optional bool
	// OptionalLong: the value is optional in the long spellings and refused in
	// the short ones (mkdir -Z, --context[=CTX]).
	OptionalLong bool
	// Repeat: it may be given more than once and each counts. Otherwise a
	// repeated flag parses (the last wins, all are judged) but is not rendered.
	Repeat bool
	// Rank orders flags when rendered; equal ranks keep the declared order.
	// find's tests are 10, its actions 90.
	Rank int
	// Excludes and Requires name flags or operands by key.
	Excludes []string
	Requires []string
	// Changes gives operands another face while this flag is present.
	Changes []Change
	// Until: the words up to one of these terminators are the flag's inner
	// command (find -exec).
	Until []string
	// Needs are what this flag asks of the environment of the run.
	Needs Need
}

// Change is what a flag does to the operands with the key Slot: operand places,
// values of other flags, implicit operands. Each set field replaces the slot's
// own; zero fields leave it. Where several flags change one slot, faces and
// effects are joined, so that the order of flags does not matter.
type Change struct {
	Slot      string
	Face      Face
	Effect    Effect
	Recursive bool
	Kind      Kind // "path" where a rev becomes a path (git diff --no-index)
	Drop      bool // the slot is not filled any more (cp -t: no dest; grep -e: no pattern)
	// Plain: a directory named here is itself what is used, and receives no
	// names (cp -T).
	Plain bool
	// Default is the slot's implicit operand while the flag is present
	// (grep -r: ".").
	Default string
}

// Need is a set of things that a flag or command asks of the cage beside its
// operands.
type Need uint16

// The needs.
const (
	// NeedAttr: sets modes, owners, times or extended attributes.
	NeedAttr Need = 1 << iota
	// NeedNet: reaches the network.
	NeedNet
	// NeedProgram: runs programs that configuration names.
	NeedProgram
	// NeedLong: is meant to run until it is ended (tail -f).
	NeedLong
)

// Slot is one operand place. Slots are filled in order; at most one has
// Repeat, and what follows that one is filled from the right.
type Slot struct {
	// Key is the parameter's name in JSON: "file", "source", "dest".
	Key      string
	Value    Value
	Repeat   bool
	Optional bool
	// Default is the implicit operand where none is given (ls: "."). It is
	// judged but never added to an argv.
	Default string
	// AfterDashes: only words behind "--" fill it (git's pathspecs).
	AfterDashes bool
	Doc         string
}

// Digits says where a command takes the number of a bare "-NUM".
type Digits uint8

// The places of a number.
const (
	// DigitsWhole: a whole token wherever an option may stand (git log -3).
	DigitsWhole Digits = iota
	// DigitsCluster: a digit is a short option like any other (grep -5n, -n5).
	DigitsCluster
	// DigitsHead: only the first argument, and unit letters and flags may
	// follow: head -3, -3c, -2kq.
	DigitsHead
	// DigitsTail: only the first argument, if at most one file follows it, and
	// "+NUM" counts from the start: tail -3, +2, -5cf.
	DigitsTail
)

// Exit says what exit codes mean.
type Exit struct {
	Code int
	Mean string // "ok", "answer", "usage", "error"
}

// Command is a tool, or one of its subcommands.
type Command struct {
	// Name is the tool's command name, or the subcommand's token.
	Name string
	// Module is its name in a registry: "sort", "git.log".
	Module  string
	Summary string
	Access  Access
	Grammar Grammar
	Flags   []Flag
	Slots   []Slot
	// Subs: the first operand chooses one of these; Slots is then unused.
	Subs []Command
	// Dashes: a bare "-NUM" is this flag's value ("head -3", "git log -3"):
	// the flag's key, or "".
	Dashes string
	// Digits says where that number may stand.
	Digits Digits
	// Implicit operands that the command uses always, whatever its argv says
	// (git status reads the whole worktree).
	Implicit []Slot
	Exits    []Exit
	Needs    Need
	// Forced flags that Render adds and Parse accepts ("--no-pager").
	Forced []string
	// Destructive, Idempotent, OpenWorld and Approval are further annotations.
	Destructive, Idempotent, OpenWorld, Approval bool
	// Health is "spawn" if only spawn failures say something about the tool's
	// health (it runs other people's code).
	Health string
}

package argv

// Invocation is what an argv means to its tool.
type Invocation struct {
	// Tool and Module name the command, "git" and "git.log".
	Tool, Module string
	// Argv is the whole command line as it will be executed, Argv[0] included.
	Argv []string
	// Command is the grammar that explained it; nil for an unknown tool.
	Command *Command
	// Operands is everything that names something: operands, flag values,
	// implicit operands. In argv order, implicit ones last.
	Operands []Operand
	// Set holds the flags and operands as parameters, in argv order.
	Set []Setting
	// Needs is the union of the command's needs and those of its flags.
	Needs Need
	// Unexplained lists the tokens that the grammar does not know. With any,
	// the tool is unknown for this call.
	Unexplained []Unexplained
}

// Operand is a token, a part of one, or an implied name, that names something.
type Operand struct {
	// Arg is the place in Argv, or -1 for an implicit operand.
	Arg int
	// Flag is the spelling of the option that took it ("-o"), "" for an
	// operand.
	Flag string
	// Key is the parameter that it belongs to.
	Key string
	// Text is the name as the tool will use it: the part behind "--output=".
	Text string
	// Value is how it is used, after what other flags change.
	Value Value
	// Base is the directory that Text is relative to when an option re-based
	// it (git -C): a path relative to the working directory, "" for the
	// working directory itself.
	Base string
	// Stream: the text is "-" and means a standard stream.
	Stream bool
	// Sources are the base names that the tool creates beneath Text, if Text
	// turns out to be a directory (cp, mv).
	Sources []string
	// Inner is the command that a find -exec primary runs.
	Inner []string
}

// Setting is one parameter as the argv gave it.
type Setting struct {
	Key string
	// Value is the text; unused where Bare.
	Value string
	// Bare: the flag stood alone.
	Bare bool
	// Arg is the place of the flag or operand in Argv.
	Arg int
}

// Unexplained is a token that the grammar does not know.
type Unexplained struct {
	Arg   int
	Token string
	// Nearest is a known spelling that is close, or "".
	Nearest string
	// Why says what was expected, as a clause: "no such option",
	// "option needs a value", "ambiguous: --recursive, --reflink".
	Why string
}

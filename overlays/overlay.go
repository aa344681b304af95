// Package overlays holds the descriptions of tools as data: one TOML file a
// tool and variant, compiled into Go literals, so that naming a tool costs no
// parsing and no other tool's description is touched.
//
// It does not run anything and does not decide anything. Which installed file
// an overlay may describe is the matching rule in this package; whether a call
// is allowed is package guard's answer.
package overlays

import "github.com/wrapexec/wrap/argv"

// Overlay is everything that wrap knows of one variant of one tool.
// It is plain data and must not be changed.
type Overlay struct {
	// Tool is the command name, Variant the build family: "sort", "gnu".
	Tool, Variant string
	Command       argv.Command
	Probe         Probe
	// Profiles name the sets of system paths that the tool needs beside its
	// operands (exec/cage).
	Profiles []string
	// Runs are the files that the tool executes itself: absolute globs.
	Runs []string
	Env  Env
	// Versions is the range that a truth record covers, "" for none: then the
	// overlay applies, unverified. ">=9.1,<10".
	Versions string
	Source   Source
	// Examples prove the description. They are for tests and documentation: the
	// compiled overlays have none.
	Examples []Example
}

// Probe tells variants apart: the tool run with Args prints Contains, and the
// first dotted number behind After is its version.
type Probe struct {
	Args     []string
	Contains string
	After    string
}

// Env is what the tool's environment must be.
type Env struct {
	// Pass are names that it needs beside the base list.
	Pass []string
	// Fixed are settings that hold whatever the caller has, "NAME=VALUE".
	Fixed []string
	// Steering are names, or prefixes that end in "*", that would change what
	// it runs, reads or writes, or how it reads its argv. They are never passed
	// unless judged.
	Steering []string
}

// Source says which build was read, how and when.
type Source struct {
	Package, Version string
	Read             []string
	On               string
}

// Example is a run in a scratch directory, and the faces of the paths in it.
type Example struct {
	Run []string
	// Setup are commands that are run first, in the same directory.
	Setup [][]string
	Files []File
	// Faces are all that the parse must give: every path or program that the
	// run names or implies, as the tool will use it.
	Faces []FaceOf
}

// File is a file of an example: its path and content. A path that ends in "/"
// is a directory.
type File struct{ Path, Content string }

// FaceOf is the face that an example's parse must give to a path.
type FaceOf struct {
	Path string
	Face argv.Face
}

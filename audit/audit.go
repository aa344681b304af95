// Package audit is the decision log: one JSON line for every decision, refusal
// and outcome, chained by hash, in a file that only its owner can read.
//
// A line is a Record. It begins with schema, seq and prev, and ends with hash:
// the SHA-256, in hex, of the line up to the comma before "hash", closed by a
// brace. prev is the hash of the record before, 64 zeros for the first. So every
// byte of a record is covered, and JSON leaves no doubt where a field ends. To
// check one line by hand:
//
//	sed -n 1p audit.jsonl | sed 's/,"hash":"[0-9a-f]*"}$/}/' | tr -d '\n' | sha256sum
//
// Records are in the page cache when Append returns: a crash of the process
// loses none, a power failure can lose the last ones. There is no fsync, which
// would cost more than the call that it records.
//
// It does not protect against: a process of the same user, which can cut
// records off the end, or write the whole chain anew (a head anchor and a key
// that such a process cannot read are needed for that); root; a digest of an
// argv that can be guessed. It is not a debug log, and holds no argv and no
// output.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Schema is the version of the record format that this package writes.
const Schema = 1

// FileName is the name of the log within the state directory.
const FileName = "audit.jsonl"

// Kind says what a record is about.
type Kind string

// The kinds.
const (
	// Decision: the call was admitted, and starts now.
	Decision Kind = "decision"
	// Outcome: the call ended. Its decision has the same call id.
	Outcome Kind = "outcome"
	// Refusal: the call was not admitted, for whatever reason (Verdict
	// says which), and nothing of the tool ran.
	Refusal Kind = "refusal"
)

// Record is one line of the log. Append fills Schema, Seq, Prev, Torn, Cut and
// Hash, and Time where it is empty; the rest is the caller's, and what does not
// apply stays zero and is absent from the line.
type Record struct {
	Schema int    `json:"schema"`
	Seq    uint64 `json:"seq"`
	Prev   string `json:"prev"`

	// Time is RFC 3339 with nanoseconds, in UTC. The wall clock may be set
	// back, so it need not grow; Seq does.
	Time string `json:"time"`
	Kind Kind   `json:"kind"`
	// Call is the id that the records of one call share.
	Call    string `json:"call"`
	Verdict string `json:"verdict,omitempty"`
	Error   string `json:"error,omitempty"`

	Tool    string `json:"tool,omitempty"`
	Module  string `json:"module,omitempty"`
	Path    string `json:"path,omitempty"`
	Overlay string `json:"overlay,omitempty"`
	Root    string `json:"root,omitempty"`
	Workdir string `json:"workdir,omitempty"`
	Mode    string `json:"mode,omitempty"`
	// ArgvSHA256 is ArgvDigest of the argv, Argc its length.
	ArgvSHA256 string `json:"argv_sha256,omitempty"`
	Argc       int    `json:"argc,omitempty"`

	Operands []Operand `json:"operands,omitempty"`
	Refusals []Reason  `json:"refusals,omitempty"`
	Layers   []Layer   `json:"layers,omitempty"`
	Cage     *Cage     `json:"cage,omitempty"`
	Result   *Result   `json:"outcome,omitempty"`
	Notes    []string  `json:"notes,omitempty"`

	// Torn counts the fragments right before this record: lines that a crash
	// or a full disk broke off. It is part of what is hashed, so that a
	// fragment which no record owns up to is an edit.
	Torn int `json:"torn,omitempty"`
	// Cut lists the values that do not stand in the record as they were.
	Cut []Cut `json:"cut,omitempty"`

	Hash string `json:"hash"`
}

// Operand is one judged operand. Its text is not kept: what it resolved to is.
type Operand struct {
	Arg      int    `json:"arg"`
	Kind     string `json:"kind,omitempty"`
	Face     string `json:"face,omitempty"`
	Resolved string `json:"resolved,omitempty"`
	Role     string `json:"role,omitempty"`
	// Nlink is set where a file has more than one name.
	Nlink uint64 `json:"nlink,omitempty"`
}

// Reason is one reason of a refusal.
type Reason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Layer is the answer of one layer of the decision.
type Layer struct {
	Layer  string `json:"layer"`
	Result string `json:"result"`
	Rule   string `json:"rule,omitempty"`
}

// Cage is what the kernel held the child to, in short.
type Cage struct {
	Scope    string   `json:"scope"`
	Net      string   `json:"net,omitempty"`
	Enforced []string `json:"enforced"`
	Missing  []string `json:"missing"`
}

// Result is how a call ended. Code and signal are those of the child.
type Result struct {
	Kind        string   `json:"kind"`
	Code        int      `json:"code"`
	Signal      string   `json:"signal,omitempty"`
	Counted     string   `json:"counted,omitempty"`
	DurationMS  int64    `json:"duration_ms"`
	MaxRSSKiB   int64    `json:"max_rss_kib,omitempty"`
	LeftBehind  int      `json:"left_behind,omitempty"`
	Quarantined []string `json:"quarantined,omitempty"`
}

// Cut names a value that is not whole in its record: a string longer than
// MaxString (its head is kept), one that is not UTF-8 (each bad byte became
// U+FFFD), or a list longer than MaxList (its head is kept).
type Cut struct {
	// Field is the value's place, "operands[3].resolved".
	Field string `json:"field"`
	// Bytes and SHA256 are of the true string.
	Bytes  int    `json:"bytes,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Items is the true length of the list.
	Items int `json:"items,omitempty"`
}

// The bounds of what a record holds of one value.
const (
	MaxString = 4 << 10
	MaxList   = 1000
)

// ArgvDigest is the SHA-256, in hex, of argv with a NUL behind each element.
// No element can hold a NUL, so no two argvs share a digest by their joints.
//
// It does not hide an argv that can be guessed.
func ArgvDigest(argv []string) string {
	h := sha256.New()
	for _, a := range argv {
		h.Write([]byte(a))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// StateDir is the directory of everything that wrap remembers: xdg/wrap, where
// xdg is the value of $XDG_STATE_HOME, and home/.local/state/wrap where that is
// empty (XDG Base Directory Specification). home is the caller's by passwd entry.
// The specification has a relative value ignored; here it is an error, because
// the log that was asked for would silently be another one.
func StateDir(home, xdg string) (string, error) {
	base, from := xdg, "XDG_STATE_HOME"
	if base == "" {
		if home == "" {
			return "", errors.New("no state directory: this user has no home, and XDG_STATE_HOME is not set")
		}
		base, from = filepath.Join(home, ".local/state"), "the home directory"
	}
	if !filepath.IsAbs(base) {
		return "", fmt.Errorf("no state directory: %s is %q, which is not an absolute path", from, base)
	}
	if strings.IndexByte(base, 0) >= 0 {
		return "", fmt.Errorf("no state directory: %s holds a NUL byte", from)
	}
	return filepath.Join(base, "wrap"), nil
}

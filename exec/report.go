package exec

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/guard"
)

// Verdict is how a call ended for its caller.
type Verdict string

// The verdicts.
const (
	Allowed     Verdict = "allowed"
	Refused     Verdict = "refused"
	Malformed   Verdict = "malformed"
	CircuitOpen Verdict = "circuit_open"
	Failed      Verdict = "failed"
)

// Report is everything that one call was judged and run by: the one object of
// which --json, --report, --explain and the lines on stderr are renderings.
//
// Field names are stable; a field that does not apply is absent. Texts are
// valid UTF-8: bytes of a name that are not become U+FFFD here, and only here.
type Report struct {
	Schema   int             `json:"schema"`
	Verdict  Verdict         `json:"verdict"`
	Exit     int             `json:"exit"`
	Error    string          `json:"error,omitempty"`
	Call     string          `json:"call,omitempty"`
	Tool     *ToolReport     `json:"tool,omitempty"`
	Argv     []string        `json:"argv,omitempty"`
	Root     string          `json:"root,omitempty"`
	Workdir  string          `json:"workdir,omitempty"`
	Mode     string          `json:"mode,omitempty"`
	Operands []OperandReport `json:"operands,omitempty"`
	Layers   []LayerReport   `json:"layers,omitempty"`
	Cage     *CageReport     `json:"cage,omitempty"`
	Refusals []RefusalReport `json:"refusals,omitempty"`
	Notes    []string        `json:"notes,omitempty"`
	Outcome  *Outcome        `json:"outcome,omitempty"`
	Output   *OutputReport   `json:"output,omitempty"`

	// wouldBe: nothing was run, and enforced means 'would be'.
	wouldBe bool
}

// ToolReport names the program.
type ToolReport struct {
	Name     string `json:"name"`
	Module   string `json:"module,omitempty"`
	Path     string `json:"path,omitempty"`
	Overlay  string `json:"overlay,omitempty"`
	Verified bool   `json:"verified"`
}

// OperandReport is one judged operand.
type OperandReport struct {
	Arg      int    `json:"arg"`
	Text     string `json:"text"`
	Kind     string `json:"kind"`
	Face     string `json:"face,omitempty"`
	Resolved string `json:"resolved,omitempty"`
	Exists   bool   `json:"exists"`
	Role     string `json:"role,omitempty"`
}

// LayerReport is the answer of one layer of the decision.
type LayerReport struct {
	Layer  string `json:"layer"`
	Result string `json:"result"`
	Rule   string `json:"rule,omitempty"`
}

// CageReport is what the kernel holds the child to.
type CageReport struct {
	Scope    string   `json:"scope"`
	Read     []string `json:"read"`
	Write    []string `json:"write"`
	Exec     []string `json:"exec"`
	Net      string   `json:"net"`
	Enforced []string `json:"enforced"`
	Missing  []string `json:"missing"`
}

// RefusalReport is one guard.Refusal.
type RefusalReport struct {
	Code    guard.Code    `json:"code"`
	Reason  string        `json:"reason,omitempty"`
	Arg     int           `json:"arg"`
	Path    string        `json:"path,omitempty"`
	Face    string        `json:"face,omitempty"`
	Message string        `json:"message"`
	Remedy  *RemedyReport `json:"remedy,omitempty"`
}

// RemedyReport is a guard.Remedy.
type RemedyReport struct {
	Kind    string `json:"kind"`
	Who     string `json:"who"`
	Change  string `json:"change"`
	Message string `json:"message"`
}

// OutputReport is what a captured run wrote.
type OutputReport struct {
	Stdout StreamReport `json:"stdout"`
	Stderr StreamReport `json:"stderr"`
}

// StreamReport is one captured stream: Text where it is valid UTF-8, else
// Base64. Bytes counts all that was written, kept or not.
type StreamReport struct {
	Text      *string `json:"text,omitempty"`
	Base64    []byte  `json:"base64,omitempty"`
	Bytes     int64   `json:"bytes"`
	Truncated bool    `json:"truncated"`
}

// JSON renders the report as one line that ends in a newline.
func (r *Report) JSON() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		// Every field is a plain value; only a programming mistake gets here.
		b = []byte(`{"schema":1,"verdict":"failed","exit":125,"error":"report could not be rendered"}`)
	}
	return append(plain(b), '\n')
}

// plain escapes what json.Marshal leaves as it is and a terminal acts upon: DEL,
// the C1 controls, and characters that change the order of display.
func plain(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c >= 0x7f && unsafeRune(c) {
			out = fmt.Appendf(out, `\u%04x`, c)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

func unsafeRune(c rune) bool {
	switch {
	case c <= 0x9f, c == 0x61c, c == 0x200e, c == 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x2066 && c <= 0x2069, c == 0xfeff:
		return true
	}
	return false
}

func modeName(m guard.Mode) string {
	if m == guard.ReadWrite {
		return "readwrite"
	}
	return "readonly"
}

func refusalReports(list []*guard.Refusal) []RefusalReport {
	out := make([]RefusalReport, 0, len(list))
	for _, r := range list {
		rr := RefusalReport{
			Code: r.Code, Reason: r.Reason, Arg: r.Arg, Path: r.Path, Message: r.Message,
		}
		if r.Arg >= 0 {
			rr.Face = r.Face.String()
		}
		if m := r.Remedy; m != nil {
			rr.Remedy = &RemedyReport{Kind: m.Kind, Who: m.Who, Change: m.Change, Message: m.Message}
		}
		out = append(out, rr)
	}
	return out
}

const (
	readRights  = guard.ReadFile | guard.ReadDir
	writeRights = guard.WriteFile | guard.Truncate | guard.RemoveDir | guard.RemoveFile | guard.MakeChar |
		guard.MakeDir | guard.MakeReg | guard.MakeSock | guard.MakeFifo | guard.MakeBlock | guard.MakeSym | guard.Refer
)

func cageReport(c *guard.Cage, enforced, missing []string) *CageReport {
	r := &CageReport{
		Scope: "call", Net: "none",
		Read: []string{}, Write: []string{}, Exec: []string{},
		Enforced: nonNil(enforced), Missing: nonNil(missing),
	}
	if c.Scope == guard.ScopeRoot {
		r.Scope = "root"
	}
	if c.Net == guard.NetAll {
		r.Net = "all"
	}
	for _, rule := range c.Rules {
		if rule.Rights&readRights != 0 {
			r.Read = append(r.Read, rule.Path)
		}
		if rule.Rights&writeRights != 0 {
			r.Write = append(r.Write, rule.Path)
		}
		if rule.Rights&guard.Execute != 0 {
			r.Exec = append(r.Exec, rule.Path)
		}
	}
	return r
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// Explain renders the whole judgement for a person: plain lines, escaped.
func (r *Report) Explain() []byte {
	var b []byte
	line := func(key, text string) {
		if text == "" {
			return
		}
		b = append(b, key...)
		for n := len(key); n < 10; n++ {
			b = append(b, ' ')
		}
		b = append(b, text...)
		b = append(b, '\n')
	}
	line("verdict", string(r.Verdict))
	line("error", argv.Escape(r.Error))
	if len(r.Argv) > 0 {
		line("argv", argv.QuoteAll(r.Argv))
	}
	if t := r.Tool; t != nil {
		text := argv.Quote(t.Name)
		switch {
		case t.Overlay == "":
			text += ", an unknown tool"
		case t.Verified:
			text += ", described by " + t.Overlay + " (verified for the installed version)"
		default:
			text += ", described by " + t.Overlay + " (not verified for the installed version)"
		}
		line("tool", text)
		line("file", argv.Quote(t.Path))
		line("module", t.Module)
	}
	if r.Root != "" {
		line("root", argv.Quote(r.Root))
	}
	if r.Workdir != "" && r.Workdir != r.Root {
		line("workdir", argv.Quote(r.Workdir))
	}
	line("mode", r.Mode)
	for _, o := range r.Operands {
		text := o.Face
		if text == "" {
			text = o.Kind
		}
		text += "  " + argv.Quote(o.Text)
		if o.Resolved != "" {
			text += "  " + argv.Quote(o.Resolved)
		}
		if o.Role != "" {
			text += "  (" + o.Role
			if !o.Exists {
				text += ", absent"
			}
			text += ")"
		}
		line("operand", text)
	}
	for _, l := range r.Layers {
		text := l.Layer + ": " + l.Result
		if l.Rule != "" {
			text += " (" + l.Rule + ")"
		}
		line("layer", text)
	}
	if c := r.Cage; c != nil {
		line("cage", "scope "+c.Scope+", network "+c.Net)
		for _, p := range c.Read {
			line("  read", argv.Quote(p))
		}
		for _, p := range c.Write {
			line("  write", argv.Quote(p))
		}
		for _, p := range c.Exec {
			line("  exec", argv.Quote(p))
		}
		key := "enforced"
		if r.wouldBe {
			key = "would be"
		}
		line(key, join(c.Enforced))
		line("missing", join(c.Missing))
	}
	for _, ref := range r.Refusals {
		line("refused", ref.Message+" ["+string(ref.Code)+"]")
		if ref.Remedy != nil {
			line("help", ref.Remedy.Message)
		}
	}
	for _, n := range r.Notes {
		line("note", n)
	}
	return b
}

func join(list []string) string {
	var b []byte
	for i, s := range list {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, s...)
	}
	return string(b)
}

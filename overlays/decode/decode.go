// Package decode reads tool descriptions from TOML. It is strict: a key that is
// not known, a word that means nothing, a flag that contradicts another is an
// error that names the file, and the line where the fault is one of syntax or of
// a key.
//
// It is for generators, tests and tools that load descriptions at run time; the
// launcher carries the compiled form and must not import it. It does not check
// that a description is true.
package decode

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/overlays"
)

// Error says what is wrong in a description.
type Error struct {
	// File is the name that was given to Overlay, Line the place in it, from 1;
	// 0 if the fault has no one line.
	File string
	Line int
	Msg  string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Msg
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Msg
}

// Overlay reads one description. The error holds an *Error for each fault.
func Overlay(file string, text []byte) (*overlays.Overlay, error) {
	var doc document
	dec := toml.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, syntaxError(file, err)
	}
	r := &reader{file: file, sets: doc.Set}
	o := r.overlay(&doc)
	for _, err := range unjoin(o.Command.Check()) {
		r.fault("%v", err)
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return o, nil
}

func syntaxError(file string, err error) error {
	if e, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		var errs []error
		for i := range e.Errors {
			line, _ := e.Errors[i].Position()
			errs = append(errs, &Error{file, line, "unknown key " + strings.Join(e.Errors[i].Key(), ".")})
		}
		return errors.Join(errs...)
	}
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := e.Position()
		return &Error{file, line, strings.TrimPrefix(e.Error(), "toml: ")}
	}
	return &Error{file, 0, err.Error()}
}

func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// The TOML document. What each key means is said where it ends up: in package
// overlays and in package argv.
type document struct {
	Tool     string             `toml:"tool"`
	Variant  string             `toml:"variant"`
	Probe    probe              `toml:"probe"`
	Profiles []string           `toml:"profiles"`
	Runs     []string           `toml:"runs"`
	Env      env                `toml:"env"`
	Versions string             `toml:"versions"`
	Source   source             `toml:"source"`
	Set      map[string]set     `toml:"set"`
	Module   map[string]command `toml:"module"`
	Example  []example          `toml:"example"`
	command
}

type probe struct {
	Args     []string `toml:"args"`
	Contains string   `toml:"contains"`
	After    string   `toml:"after"`
}

type env struct {
	Pass     []string          `toml:"pass"`
	Fixed    map[string]string `toml:"fixed"`
	Steering []string          `toml:"steering"`
}

type source struct {
	Package string   `toml:"package"`
	Version string   `toml:"version"`
	Read    []string `toml:"read"`
	On      string   `toml:"on"`
}

type example struct {
	Run   []string          `toml:"run"`
	Setup [][]string        `toml:"setup"`
	Files map[string]string `toml:"files"`
	Faces map[string]string `toml:"faces"`
}

// set is a list of flags that several modules share.
type set struct {
	Flags []flag `toml:"flags"`
}

type command struct {
	Summary  string            `toml:"summary"`
	Readonly string            `toml:"readonly"`
	Grammar  string            `toml:"grammar"`
	Exit     map[string]string `toml:"exit"`
	Dashes   string            `toml:"dashes"`
	Digits   string            `toml:"digits"`
	Forced   []string          `toml:"forced"`
	Needs    []string          `toml:"needs"`
	Health   string            `toml:"health"`
	Use      []string          `toml:"use"`
	Flags    []flag            `toml:"flags"`
	Operands []operand         `toml:"operands"`
	Implicit []operand         `toml:"implicit"`

	Destructive bool `toml:"destructive"`
	Idempotent  bool `toml:"idempotent"`
	OpenWorld   bool `toml:"open_world"`
	Approval    bool `toml:"requires_approval"`
}

type value struct {
	Value     string   `toml:"value"`
	Of        []string `toml:"of"`
	Name      string   `toml:"placeholder"`
	Face      string   `toml:"face"`
	Effect    string   `toml:"effect"`
	Dash      string   `toml:"dash"`
	Recursive bool     `toml:"recursive"`
	Lists     string   `toml:"lists"`
	Names     string   `toml:"names_from"`
	Rebases   bool     `toml:"rebases"`
	Enclosing string   `toml:"enclosing"`
	Sep       string   `toml:"sep"`
}

type flag struct {
	Names    []string          `toml:"names"`
	Key      string            `toml:"key"`
	Doc      string            `toml:"doc"`
	Values   []value           `toml:"values"`
	Optional string            `toml:"optional_value"`
	Repeat   bool              `toml:"repeat"`
	Rank     int               `toml:"rank"`
	Excludes []string          `toml:"excludes"`
	Requires []string          `toml:"requires"`
	Changes  map[string]change `toml:"changes"`
	Until    []string          `toml:"until"`
	Needs    []string          `toml:"needs"`
	value
}

type operand struct {
	Key         string `toml:"key"`
	Doc         string `toml:"doc"`
	Repeat      bool   `toml:"repeat"`
	Optional    bool   `toml:"optional"`
	Default     string `toml:"default"`
	AfterDashes bool   `toml:"after_dashes"`
	value
}

type change struct {
	Value     string `toml:"value"`
	Face      string `toml:"face"`
	Effect    string `toml:"effect"`
	Recursive bool   `toml:"recursive"`
	Drop      bool   `toml:"drop"`
	Plain     bool   `toml:"plain"`
	Default   string `toml:"default"`
}

// reader turns the document into an Overlay and collects what is wrong.
type reader struct {
	file string
	sets map[string]set
	errs []error
}

func (r *reader) fault(format string, args ...any) {
	r.errs = append(r.errs, &Error{File: r.file, Msg: fmt.Sprintf(format, args...)})
}

func (r *reader) overlay(d *document) *overlays.Overlay {
	if d.Tool == "" || strings.ContainsAny(d.Tool, "/ \x00") || d.Variant == "" {
		r.fault("tool must be a bare command name, and variant set")
	}
	o := &overlays.Overlay{
		Tool: d.Tool, Variant: d.Variant,
		Probe:    overlays.Probe(d.Probe),
		Profiles: d.Profiles, Runs: d.Runs, Versions: d.Versions,
		Env:    overlays.Env{Pass: d.Env.Pass, Steering: d.Env.Steering},
		Source: overlays.Source(d.Source),
	}
	if len(d.Probe.Args) == 0 || d.Probe.Contains == "" {
		r.fault("probe must have args and contains")
	}
	if d.Versions != "" && !validRange(d.Versions) {
		r.fault("versions %q is no range such as \">=9.1,<9.2\"", d.Versions)
	}
	for _, run := range d.Runs {
		if !strings.HasPrefix(run, "/") {
			r.fault("runs %q must be absolute", run)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Env.Fixed)) {
		o.Env.Fixed = append(o.Env.Fixed, name+"="+d.Env.Fixed[name])
	}
	for i := range d.Example {
		o.Examples = append(o.Examples, r.example(&d.Example[i]))
	}
	o.Command = r.command(d.Tool, d.Tool, &d.command)
	for _, name := range slices.Sorted(maps.Keys(d.Module)) {
		c := d.Module[name]
		o.Command.Subs = append(o.Command.Subs, r.command(name, d.Tool+"."+name, &c))
	}
	return o
}

// validRange reports whether versions can be read at all: by whether some
// version could tell it from a malformed one.
func validRange(versions string) bool {
	for condition := range strings.SplitSeq(versions, ",") {
		bound := strings.TrimLeft(condition, "<=>")
		op := condition[:len(condition)-len(bound)]
		if !slices.Contains([]string{">=", ">", "<=", "<", "="}, op) || !overlays.InVersions("="+bound, bound) {
			return false
		}
	}
	return true
}

func (r *reader) example(e *example) overlays.Example {
	ex := overlays.Example{Run: e.Run, Setup: e.Setup}
	if len(e.Run) == 0 {
		r.fault("an example has no run")
	}
	for _, path := range slices.Sorted(maps.Keys(e.Files)) {
		ex.Files = append(ex.Files, overlays.File{Path: path, Content: e.Files[path]})
	}
	for _, path := range slices.Sorted(maps.Keys(e.Faces)) {
		ex.Faces = append(ex.Faces, overlays.FaceOf{Path: path, Face: r.face("example", e.Faces[path])})
	}
	return ex
}

func (r *reader) command(name, module string, c *command) argv.Command {
	out := argv.Command{
		Name: name, Module: module, Summary: c.Summary, Access: argv.Access(c.Readonly),
		Grammar:     word(r, module+": grammar", c.Grammar, []string{"gnu", "ordered", "find", "git"}, argv.Grammar(0)),
		Dashes:      c.Dashes,
		Digits:      word(r, module+": digits", c.Digits, []string{"whole", "cluster", "head", "tail"}, argv.Digits(0)),
		Forced:      c.Forced,
		Needs:       bits[argv.Need](r, module+": needs", c.Needs, needNames),
		Destructive: c.Destructive, Idempotent: c.Idempotent, OpenWorld: c.OpenWorld, Approval: c.Approval,
		Health: c.Health,
	}
	if c.Health != "" && c.Health != "spawn" {
		r.fault("%s: health %q is not known", module, c.Health)
	}
	for _, code := range slices.SortedFunc(maps.Keys(c.Exit), byNumber) {
		n, err := strconv.ParseUint(code, 10, 8)
		if err != nil {
			r.fault("%s: exit code %q is none", module, code)
		}
		if !slices.Contains([]string{"ok", "answer", "usage", "error", "failure"}, c.Exit[code]) {
			r.fault("%s: exit code %s cannot mean %q", module, code, c.Exit[code])
		}
		out.Exits = append(out.Exits, argv.Exit{Code: int(n), Mean: c.Exit[code]})
	}
	for i := range c.Flags {
		out.Flags = append(out.Flags, r.flag(module, &c.Flags[i]))
	}
	for _, name := range c.Use {
		s, ok := r.sets[name]
		if !ok {
			r.fault("%s: there is no set %q", module, name)
		}
		for i := range s.Flags {
			out.Flags = append(out.Flags, r.flag(module, &s.Flags[i]))
		}
	}
	for i := range c.Operands {
		out.Slots = append(out.Slots, r.operand(module, &c.Operands[i]))
	}
	for i := range c.Implicit {
		out.Implicit = append(out.Implicit, r.operand(module, &c.Implicit[i]))
	}
	return out
}

func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func (r *reader) flag(module string, f *flag) argv.Flag {
	where := module + ": flag " + strings.Join(f.Names, " ")
	out := argv.Flag{
		Names: f.Names, Key: f.Key, Doc: f.Doc, Repeat: f.Repeat, Rank: f.Rank,
		Excludes: f.Excludes, Requires: f.Requires, Until: f.Until,
		Needs: bits[argv.Need](r, where+": needs", f.Needs, needNames),
	}
	switch f.Optional {
	case "":
	case "all":
		out.Optional = true
	case "long":
		out.OptionalLong = true
	default:
		r.fault("%s: optional_value %q is not known", where, f.Optional)
	}
	values := f.Values
	if f.Value != "" {
		if len(values) > 0 {
			r.fault("%s: value or values, not both", where)
		}
		values = []value{f.value}
	} else if !f.blank() {
		r.fault("%s: describes a value and has none", where)
	}
	for i := range values {
		out.Values = append(out.Values, r.value(where, &values[i]))
	}
	for _, slots := range slices.Sorted(maps.Keys(f.Changes)) {
		c := f.Changes[slots]
		in := where + " changes " + slots
		ch := argv.Change{Recursive: c.Recursive, Kind: argv.Kind(c.Value), Drop: c.Drop, Plain: c.Plain, Default: c.Default}
		if c == (change{}) {
			r.fault("%s in nothing", in)
		}
		if c.Face != "" || c.Effect != "" {
			ch.Face, ch.Effect = r.faceEffect(in, c.Face, c.Effect)
		}
		for slot := range strings.FieldsSeq(slots) { // "a b" is both
			ch.Slot = slot
			out.Changes = append(out.Changes, ch)
		}
	}
	return out
}

// blank reports whether nothing is said of a value.
func (v *value) blank() bool {
	return v.Of == nil && v.Name == "" && v.Face == "" && v.Effect == "" && v.Dash == "" && !v.Recursive &&
		v.Lists == "" && v.Names == "" && !v.Rebases && v.Enclosing == "" && v.Sep == ""
}

func (r *reader) operand(module string, o *operand) argv.Slot {
	return argv.Slot{
		Key: o.Key, Doc: o.Doc, Repeat: o.Repeat, Optional: o.Optional, Default: o.Default, AfterDashes: o.AfterDashes,
		Value: r.value(module+": operand "+o.Key, &o.value),
	}
}

func (r *reader) value(where string, v *value) argv.Value {
	out := argv.Value{
		Kind: argv.Kind(v.Value), Of: v.Of, Name: v.Name, Dash: v.Dash, Recursive: v.Recursive,
		Names: v.Names, Rebases: v.Rebases, Enclosing: v.Enclosing, Sep: v.Sep,
	}
	if v.Face != "" || v.Effect != "" {
		out.Face, out.Effect = r.faceEffect(where, v.Face, v.Effect)
	}
	if v.Lists != "" {
		out.Lists = r.face(where, v.Lists)
	}
	return out
}

// faceEffect reads a face with its effect: how a file changes must be said
// where it changes, and nowhere else.
func (r *reader) faceEffect(where, face, effect string) (argv.Face, argv.Effect) {
	f := r.face(where, face)
	var e argv.Effect
	if effect != "" {
		e = bits[argv.Effect](r, where+": effect", strings.Split(effect, "+"), effectNames)
	}
	if f&(argv.Write|argv.Rebind) != 0 != (e != 0) {
		r.fault("%s: face %q with effect %q", where, face, effect)
	}
	return f, e
}

func (r *reader) face(where, text string) argv.Face {
	return bits[argv.Face](r, where+": face", strings.Split(text, "+"), faceNames)
}

// The names of the bits, from the lowest.
var (
	faceNames   = []string{"read", "write", "rebind", "exec"}
	effectNames = []string{"overwrite", "replace", "makedir", "makelink", "hardlink", "remove", "tree", "attr"}
	needNames   = []string{"attr", "net", "program", "long"}
)

func bits[T ~uint8 | ~uint16](r *reader, where string, words, names []string) T {
	var set T
	for _, w := range words {
		i := slices.Index(names, w)
		if i < 0 {
			r.fault("%s %q is not known", where, w)
			continue
		}
		set |= 1 << i
	}
	return set
}

// word is the place of text in names, 0 for none at all.
func word[T ~uint8](r *reader, where, text string, names []string, zero T) T {
	if text == "" {
		return zero
	}
	i := slices.Index(names, text)
	if i < 0 {
		r.fault("%s %q is not known", where, text)
		return zero
	}
	return T(i)
}

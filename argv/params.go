package argv

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParamKey is the name of f's parameter in JSON: its Key, else its first long
// spelling, else its first, without leading dashes and with an underscore for
// every byte that is not a letter or digit of ASCII.
func ParamKey(f *Flag) string {
	if f.Key != "" {
		return f.Key
	}
	name := strings.TrimLeft(spelling(f), "-")
	if strings.IndexFunc(name, notWord) < 0 {
		return name
	}
	return strings.Map(func(r rune) rune {
		if notWord(r) {
			return '_'
		}
		return r
	}, name)
}

func notWord(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
}

// spelling is the name by which f is rendered: its first long one, else its
// first. A long name says more to who reads the command line in a log.
func spelling(f *Flag) string {
	for _, n := range f.Names {
		if isLong(n) {
			return n
		}
	}
	if len(f.Names) == 0 {
		return ""
	}
	return f.Names[0]
}

// ParamError says which parameter is not as the command wants it.
type ParamError struct {
	// Pointer is the place in the JSON text (RFC 6901): "/file/0". Empty: the
	// text as a whole.
	Pointer string
	// Value is what stands there, as JSON, cut if long and safe to print.
	// Empty: nothing.
	Value string
	// Want is what was expected, as a noun phrase.
	Want string
}

func (e *ParamError) Error() string {
	where := "parameters"
	if e.Pointer != "" {
		where = "parameter " + Escape(e.Pointer)
	}
	if e.Value == "" {
		return where + ": missing, want " + e.Want
	}
	return where + ": got " + e.Value + ", want " + e.Want
}

// wrong makes a *ParamError for the JSON value v.
func wrong(pointer string, v any, want string) *ParamError {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // not to be had from decoded JSON
		text.WriteString("?")
	}
	return &ParamError{Pointer: pointer, Value: shorten(bytes.TrimSpace(text.Bytes())), Want: want}
}

// shorten makes JSON text printable, on one line, and of bounded length.
func shorten(text []byte) string {
	const limit = 80
	s := string(text)
	if len(s) > limit {
		cut := limit
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return Escape(s)
}

// member is the pointer to what lies under key in the object at pointer.
func member(pointer, key string) string {
	return pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

func element(pointer string, i int) string { return pointer + "/" + strconv.Itoa(i) }

// param is one member of the parameter object.
type param struct {
	key string
	// value is nil, bool, string, json.Number, []any or map[string]any.
	value any
}

// readParams reads one JSON object, in its order. What encoding/json would let
// pass with another meaning is refused: a key that comes twice, text behind the
// object, and bytes or surrogates that it would replace by U+FFFD.
func readParams(text []byte) ([]param, error) {
	if !utf8.Valid(text) {
		return nil, &ParamError{Value: shorten(text), Want: "UTF-8"}
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	open, err := dec.Token()
	if err != nil {
		return nil, badJSON(text, err)
	}
	if open != json.Delim('{') {
		return nil, &ParamError{Value: shorten(bytes.TrimSpace(text)), Want: "a JSON object"}
	}
	var params []param
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, badJSON(text, err)
		}
		key, _ := token.(string) // the decoder has no other key
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, badJSON(text, err)
		}
		where := member("", key)
		if seen[key] {
			return nil, &ParamError{Pointer: where, Value: shorten(raw), Want: "each parameter once"}
		}
		seen[key] = true
		if loneSurrogate(raw) {
			return nil, &ParamError{Pointer: where, Value: shorten(raw), Want: "surrogates in pairs only"}
		}
		value := json.NewDecoder(bytes.NewReader(raw))
		value.UseNumber()
		p := param{key: key}
		if err := value.Decode(&p.value); err != nil {
			return nil, badJSON(text, err)
		}
		params = append(params, p)
	}
	if _, err := dec.Token(); err != nil {
		return nil, badJSON(text, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &ParamError{Value: shorten(bytes.TrimSpace(text)), Want: "nothing behind the JSON object"}
	}
	return params, nil
}

func badJSON(text []byte, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	value := shorten(bytes.TrimSpace(text))
	if value == "" {
		value = "nothing"
	}
	return &ParamError{Value: value, Want: "a JSON object (" + Escape(err.Error()) + ")"}
}

// loneSurrogate reports whether valid JSON text escapes half a surrogate pair.
func loneSurrogate(text []byte) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		switch u := escapedUnit(text[i-1:]); {
		case 0xdc00 <= u && u <= 0xdfff:
			return true
		case 0xd800 <= u && u <= 0xdbff:
			if low := escapedUnit(text[i+5:]); low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 6
		}
		i += 4
	}
	return false
}

// escapedUnit is the UTF-16 code unit that the \uXXXX at the start of text
// stands for, 0 if there is none.
func escapedUnit(text []byte) uint64 {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	u, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return u
}

// wants says what a value of v must be.
func wants(v *Value) string {
	switch v.Kind {
	case None, String:
		return "a string"
	case Integer:
		return "an integer"
	case Number:
		return "a number"
	case Enum:
		return "one of " + strings.Join(v.Of, ", ")
	case Path:
		return "a path"
	case Program:
		return "a command"
	case Pattern:
		return "a pattern"
	case Rev:
		return "a revision or a path"
	case Config:
		return "a setting NAME=VALUE"
	}
	return "a " + string(v.Kind)
}

// scalar is the text of x as a value of v. Numbers keep the digits that the
// JSON text has; where a string is wanted a number may stand for its digits.
func scalar(v *Value, x any, pointer string) (string, error) {
	bad := wrong(pointer, x, wants(v))
	var text string
	switch x := x.(type) {
	case json.Number:
		text = x.String()
		switch {
		case v.Kind == Integer && strings.Trim(strings.TrimPrefix(text, "-"), "0123456789") != "":
			return "", bad
		case v.Kind != Integer && v.Kind != Number && v.Kind != String:
			return "", bad
		}
	case string:
		text = x
		switch v.Kind {
		case Integer, Number:
			return "", bad
		case Enum:
			if !slices.Contains(v.Of, text) {
				return "", bad
			}
		case Path, Rev, Program:
			if text == "" {
				bad.Want += " that is not empty"
				return "", bad
			}
		}
	default:
		return "", bad
	}
	if strings.IndexByte(text, 0) >= 0 {
		bad.Want += " without NUL bytes"
		return "", bad
	}
	return text, nil
}

// use is one occurrence of a flag: bare, or with its values, or with the words
// of its inner command; or the text of one operand.
type use struct {
	bare  bool
	texts []string
}

// flagUses reads the parameter x of f. None at all means that f is absent.
func flagUses(f *Flag, x any, pointer string) ([]use, error) {
	name := spelling(f)
	valued := takes(f, name)
	switch x := x.(type) {
	case nil:
		return nil, nil
	case bool:
		if len(f.Until) > 0 || valued && !mayLack(f, name) {
			return nil, wrong(pointer, x, flagWants(f))
		}
		if !x {
			return nil, nil
		}
		return []use{{bare: true}}, nil
	case []any:
		if !f.Repeat && !compound(f) {
			return nil, wrong(pointer, x, flagWants(f))
		}
		if !f.Repeat || compound(f) && len(x) > 0 && !isArray(x[0]) {
			u, err := flagUse(f, x, pointer)
			return []use{u}, err
		}
		uses := make([]use, len(x))
		for i := range x {
			var err error
			if uses[i], err = flagUse(f, x[i], element(pointer, i)); err != nil {
				return nil, err
			}
		}
		return uses, nil
	}
	u, err := flagUse(f, x, pointer)
	return []use{u}, err
}

// compound reports whether one occurrence of f has several texts.
func compound(f *Flag) bool { return len(f.Until) > 0 || len(f.Values) > 1 }

func isArray(x any) bool {
	_, ok := x.([]any)
	return ok
}

func flagWants(f *Flag) string {
	switch {
	case len(f.Until) > 0:
		return "an array with the words of a command"
	case len(f.Values) > 1:
		return "an array of " + strconv.Itoa(len(f.Values)) + " values"
	case !takes(f, spelling(f)):
		return "true or false"
	case mayLack(f, spelling(f)):
		return "true, false or " + wants(&f.Values[0])
	}
	return wants(&f.Values[0])
}

// flagUse reads one occurrence of f.
func flagUse(f *Flag, x any, pointer string) (use, error) {
	if !compound(f) {
		if !takes(f, spelling(f)) {
			return use{}, wrong(pointer, x, flagWants(f))
		}
		text, err := scalar(&f.Values[0], x, pointer)
		return use{texts: []string{text}}, err
	}
	list, _ := x.([]any)
	if len(f.Until) == 0 && len(list) != len(f.Values) || len(list) == 0 {
		return use{}, wrong(pointer, x, flagWants(f))
	}
	texts := make([]string, len(list))
	for i := range list {
		v := Value{Kind: String}
		if len(f.Until) == 0 {
			v = f.Values[i]
		} else if i == 0 {
			v.Kind = Program
		}
		var err error
		if texts[i], err = scalar(&v, list[i], element(pointer, i)); err != nil {
			return use{}, err
		}
	}
	return use{texts: texts}, nil
}

// slotUses reads the parameter x of s. None at all means that s is not filled.
func slotUses(s *Slot, x any, pointer string) ([]use, error) {
	list, many := x.([]any)
	switch {
	case x == nil:
		return nil, nil
	case many && !s.Repeat:
		return nil, wrong(pointer, x, wants(&s.Value))
	case !many:
		text, err := scalar(&s.Value, x, pointer)
		return []use{{texts: []string{text}}}, err
	}
	uses := make([]use, len(list))
	for i := range list {
		text, err := scalar(&s.Value, list[i], element(pointer, i))
		if err != nil {
			return nil, err
		}
		uses[i].texts = []string{text}
	}
	return uses, nil
}

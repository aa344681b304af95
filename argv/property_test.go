package argv

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// texts are values that are easy to get wrong.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"a", "a/b", "-", "--", "-a", "--all", "--output=x", "+2", "-3", "x=y", "{}", ";", "+", "(", "!", ",", ")", "a b", "'", "é", "\n", "\u202e", "..", "/", "-D", "never",
		}),
		rapid.StringN(1, 5, -1),
	)
}

func drawValue(t *rapid.T, v *Value) any {
	switch v.Kind {
	case Integer, Number:
		return json.Number(rapid.SampledFrom([]string{"0", "3", "-1", "12345678901234567890"}).Draw(t, "number"))
	case Enum:
		return rapid.SampledFrom(v.Of).Draw(t, "word")
	}
	return strings.ReplaceAll(texts().Draw(t, "text"), "\x00", "")
}

func drawFlag(t *rapid.T, f *Flag) any {
	if !takes(f, spelling(f)) && len(f.Until) == 0 {
		return true
	}
	one := func() any {
		switch {
		case len(f.Until) > 0:
			words := rapid.SliceOfN(texts(), 1, 4).Draw(t, "words")
			list := make([]any, len(words))
			for i := range words {
				list[i] = words[i]
			}
			return list
		case len(f.Values) > 1:
			var list []any
			for i := range f.Values {
				list = append(list, drawValue(t, &f.Values[i]))
			}
			return list
		}
		return drawValue(t, &f.Values[0])
	}
	switch {
	case mayLack(f, spelling(f)) && rapid.Bool().Draw(t, "bare"):
		return true
	case f.Repeat && rapid.Bool().Draw(t, "many"):
		var list []any
		for range rapid.IntRange(1, 3).Draw(t, "n") {
			list = append(list, one())
		}
		return list
	}
	return one()
}

func drawSlot(t *rapid.T, s *Slot) any {
	if !s.Repeat {
		return drawValue(t, &s.Value)
	}
	var list []any
	for range rapid.IntRange(1, 4).Draw(t, "n") {
		list = append(list, drawValue(t, &s.Value))
	}
	return list
}

// strings of a parameter, in order; what stands for a bare flag is "true".
func flatten(x any) []string {
	switch x := x.(type) {
	case bool:
		return []string{"true"}
	case json.Number:
		return []string{x.String()}
	case string:
		return []string{x}
	case []any:
		var all []string
		for _, e := range x {
			all = append(all, flatten(e)...)
		}
		return all
	}
	return nil
}

// TestParseRender: what Render made of parameters, Parse reads as the same
// parameters. Render checks it too; here the comparison is another one.
func TestParseRender(t *testing.T) {
	tools := allTools()
	rendered, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(tools).Draw(t, "tool")
		last, path := c, []string(nil)
		flags := c.Flags
		if len(c.Subs) > 0 {
			last = &c.Subs[rapid.IntRange(0, len(c.Subs)-1).Draw(t, "sub")]
			path = []string{last.Name}
			flags = append(slices.Clone(flags), last.Flags...)
		}
		params := map[string]any{}
		for i := range flags {
			if rapid.IntRange(0, 5).Draw(t, "dice") == 0 {
				params[ParamKey(&flags[i])] = drawFlag(t, &flags[i])
			}
		}
		for i := range last.Slots {
			if s := &last.Slots[i]; !s.Optional || rapid.Bool().Draw(t, "given") {
				params[s.Key] = drawSlot(t, s)
			}
		}
		text, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		argv, err := Render(c, path, text)
		var fault *ParamError
		if errors.As(err, &fault) {
			refused++
			return
		}
		if err != nil {
			t.Fatalf("Render(%s): %v", text, err)
		}
		rendered++
		inv, err := Parse(c, argv)
		if err != nil || len(inv.Unexplained) > 0 {
			t.Fatalf("%q: %v, unexplained %v", argv, err, inv.Unexplained)
		}
		got := map[string][]string{}
		for _, s := range inv.Set {
			v := s.Value
			if s.Bare {
				v = "true"
			}
			got[s.Key] = append(got[s.Key], v)
		}
		delete(got, "exec")     // its words are compared in the tables
		delete(got, "ok")       //
		delete(got, "no_pager") // forced
		for key, v := range params {
			if key == "exec" || key == "ok" || key == "no_pager" {
				continue
			}
			want := flatten(v)
			if len(got[key]) != len(want) {
				t.Fatalf("%s became %q, which says %s=%q", text, argv, key, got[key])
			}
			for i := range want {
				// The one thing that Render adds to a value.
				if g := got[key][i]; g != want[i] && g != "./"+want[i] {
					t.Fatalf("%s became %q, which says %s=%q", text, argv, key, got[key])
				}
			}
			delete(got, key)
		}
		if len(got) > 0 {
			t.Fatalf("%s became %q, which adds %v", text, argv, got)
		}
	})
	if rendered < 30 || refused < 5 {
		t.Errorf("%d rendered, %d refused: too few to mean anything", rendered, refused)
	}
}

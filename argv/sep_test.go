package argv

import (
	"slices"
	"testing"
)

// TestSep: each name of a list is an operand of its own, whatever the spelling.
func TestSep(t *testing.T) {
	c := anyTool(nil, valued(Value{Kind: Path, Face: Read, Sep: ":"}, "-m", "--magic-file"))
	for _, tt := range []struct {
		argv []string
		want []string
	}{
		{[]string{"any", "-m", "a"}, []string{"a"}},
		{[]string{"any", "-ma:../b"}, []string{"a", "../b"}},
		{[]string{"any", "--magic-file=:a::b:"}, []string{"a", "b"}},
		{[]string{"any", "-m", ""}, []string{""}},
		{[]string{"any", "-m", ":"}, nil},
	} {
		inv, err := Parse(c, tt.argv)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, op := range inv.Operands {
			got = append(got, op.Text)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Parse(%q) names %q, want %q", tt.argv, got, tt.want)
		}
	}
}

// TestPlain: with cp -T the directory itself is written, not names in it.
func TestPlain(t *testing.T) {
	c := cpTool()
	plain := flag("-T", "--no-target-directory")
	plain.Changes = []Change{{Slot: "dest", Plain: true}}
	c.Flags = append(c.Flags, plain)
	for _, tt := range []struct {
		argv []string
		want []string
	}{
		{[]string{"cp", "-r", "a", "d"}, []string{"a"}},
		{[]string{"cp", "-rT", "a", "d"}, nil},
	} {
		inv, err := Parse(c, tt.argv)
		if err != nil {
			t.Fatal(err)
		}
		if got := inv.Operands[len(inv.Operands)-1].Sources; !slices.Equal(got, tt.want) {
			t.Errorf("Parse(%q) writes the names %q in the directory, want %q", tt.argv, got, tt.want)
		}
	}
}

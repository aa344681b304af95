package argv

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// getoptTool is the command that getopt(1) is asked for below.
func getoptTool() *Command {
	gamma := valued(Value{Kind: String}, "--gamma")
	gamma.Optional = true
	c := valued(Value{Kind: String}, "-c")
	c.Optional = true
	return anyTool(
		[]Slot{files("operand", Value{Kind: String})},
		flag("-a"), valued(Value{Kind: String}, "-b"), c, flag("-1"),
		flag("--alpha"), flag("--alpine"), valued(Value{Kind: String}, "--beta"), gamma, flag("--gam"), flag("--al"),
	)
}

// TestParseAgainstGetopt: util-linux's getopt(1) is glibc's getopt_long with a
// command line. It and Parse must read the same from any argv, and refuse the
// same ones.
func TestParseAgainstGetopt(t *testing.T) {
	need(t, "getopt")
	tokens := rapid.OneOf(
		rapid.SampledFrom([]string{
			"-", "--", "-a", "-b", "-c", "-ab", "-ba", "-ca", "-ac", "-a1b", "-1", "-bx", "-cx", "-x", "-ax", "-b-", "-b--", "-c-a", "-a-",
			"--alpha", "--alp", "--alph", "--a", "--al", "--alpi", "--beta", "--b", "--beta=x", "--b=", "--be=-a", "--gamma", "--gamma=x",
			"--gam", "--ga", "--g", "--gamm=y", "--gam=z", "--alpha=x", "--=x", "--x", "---", "--al=", "x", "y", "",
		}),
		rapid.StringMatching(`-{0,3}[ab1cx=-]{0,4}`),
	)
	explained, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(tokens, 0, 6).Draw(t, "args")
		out, err := exec.Command("getopt", append([]string{"-u", "-q", "-o", "ab:c::1", "-l", "alpha,alpine,beta:,gamma::,gam,al", "--"}, visible(args)...)...).Output()
		inv, perr := Parse(getoptTool(), append([]string{"any"}, visible(args)...))
		if perr != nil {
			t.Fatal(perr)
		}
		if got, want := len(inv.Unexplained) > 0, err != nil; got != want {
			t.Fatalf("%q: unexplained %v, getopt says %v, %s", args, inv.Unexplained, err, out)
		}
		if err != nil {
			refused++
			return
		}
		explained++
		var flags, operands []string
		for _, s := range inv.Set {
			switch {
			case s.Key == "operand":
				operands = append(operands, s.Value)
			case s.Bare && (s.Key == "c" || s.Key == "gamma"): // getopt shows the missing value as an empty one
				flags = append(flags, dashed(s.Key), "")
			case s.Bare:
				flags = append(flags, dashed(s.Key))
			default:
				flags = append(flags, dashed(s.Key), s.Value)
			}
		}
		got := " " + strings.Join(append(append(flags, "--"), operands...), " ") + "\n"
		if got != string(out) {
			t.Fatalf("%q:\n   got %q\ngetopt %q", args, got, out)
		}
	})
	if explained < 20 || refused < 20 {
		t.Errorf("%d explained and %d refused: too few of one kind to mean anything", explained, refused)
	}
}

// visible makes empty words visible, since getopt -u prints them as nothing.
func visible(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if a == "" {
			a = "EMPTY"
		}
		out[i] = a
	}
	return out
}

func dashed(key string) string {
	if len(key) == 1 {
		return "-" + key
	}
	return "--" + key
}

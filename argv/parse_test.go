package argv

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said renders what Parse found in a form that a table can hold: operands as
// text:faces, settings as key=value or key, unexplained tokens as token!.
func said(inv *Invocation) (operands, set, unexplained string) {
	var o, s, u []string
	for _, op := range inv.Operands {
		text := op.Text
		if op.Base != "" {
			text = op.Base + "|" + text
		}
		switch {
		case op.Stream:
			text += ":stream"
		case op.Value.Kind == Config:
			text += ":config"
		default:
			text += ":" + op.Value.Face.String()
		}
		if op.Value.Recursive {
			text += "*"
		}
		if op.Sources != nil {
			text += "<" + strings.Join(op.Sources, ",") + ">"
		}
		if op.Inner != nil {
			text += "(" + QuoteAll(op.Inner) + ")"
		}
		if op.Arg < 0 {
			text += "?"
		}
		o = append(o, text)
	}
	for _, x := range inv.Set {
		if x.Bare {
			s = append(s, x.Key)
		} else {
			s = append(s, x.Key+"="+x.Value)
		}
	}
	for _, x := range inv.Unexplained {
		u = append(u, x.Token+"!")
	}
	return strings.Join(o, " "), strings.Join(s, " "), strings.Join(u, " ")
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name     string
		tool     *Command
		argv     string // split at spaces; '' is the empty word
		operands string
		set      string
		unknown  string
	}{
		// The forms of getopt_long.
		{"cluster, value apart", sortTool(), "-uo out in", "out:write in:read", "unique output=out file=in", ""},
		{"cluster, value attached", sortTool(), "-uoout in", "out:write in:read", "unique output=out file=in", ""},
		{"short attached", sortTool(), "-oout", "out:write", "output=out", ""},
		{"short apart, dash-leading value", sortTool(), "-o -u in", "-u:write in:read", "output=-u file=in", ""},
		{"long apart", sortTool(), "--output out in", "out:write in:read", "output=out file=in", ""},
		{"long attached", sortTool(), "--output=out", "out:write", "output=out", ""},
		{"long attached, empty", sortTool(), "--output= in", ":write in:read", "output= file=in", ""},
		{"long takes -- as its value", sortTool(), "--output -- in", "--:write in:read", "output=-- file=in", ""},
		{"abbreviation", sortTool(), "--outp=out", "out:write", "output=out", ""},
		{"abbreviation, value apart", sortTool(), "--ou out in", "out:write in:read", "output=out file=in", ""},
		{"late option", sortTool(), "in -o out", "in:read out:write", "file=in output=out", ""},
		{"behind --", sortTool(), "-- -o", "-o:read", "file=-o", ""},
		{"second -- is a file", sortTool(), "-- a -- b", "a:read --:read b:read", "file=a file=-- file=b", ""},
		{"stdin", sortTool(), "a - b", "a:read -:stream b:read", "file=a file=- file=b", ""},
		{"- where it is a file", cpTool(), "- d", "-:read d:write<->", "source=- dest=d", ""},
		{"optional value missing", grepTool(), "--color x f", "f:read", "color patterns=x file=f", ""},
		{"optional value attached", grepTool(), "--color=never x f", "f:read", "color=never patterns=x file=f", ""},
		{"optional in long, short takes none", mkdirTool(), "-Zp d", "d:write", "context parents directory=d", ""},
		{"optional in long, apart is an operand", mkdirTool(), "--context ctx d", "ctx:write d:write", "context directory=ctx directory=d", ""},
		{"exact wins over prefix", catTool(), "--number f", "f:read", "number file=f", ""},
		{"one flag's spellings are not ambiguous", grepTool(), "--col x", "", "color patterns=x", ""},
		{"last of a repeated flag counts, all are judged", sortTool(), "-o a -o b", "a:write b:write", "output=a output=b", ""},
		{"a value in a cluster eats the rest", grepTool(), "-ei in", "in:read", "regexp=i file=in", ""},

		// What is not explained.
		{"ambiguous", cpTool(), "--re a b", "a:read b:write<a>", "source=a dest=b", "--re!"},
		{"ambiguous by =", sortTool(), "--=x", "", "", "--=x!"},
		{"unknown long", lsTool(), "--frob", ".:read?", "", "--frob!"},
		{"unknown short", lsTool(), "-lX", ".:read?", "l", "-lX!"},
		{"value for a flag without", sortTool(), "--unique=x", "", "", "--unique=x!"},
		{"value missing", sortTool(), "in -o", "in:read", "file=in", "-o!"},
		{"long value missing", sortTool(), "--output", "", "", "--output!"},
		{"operand too many", uniqTool(), "a b c", "a:read b:write", "input=a output=b", "c!"},
		{"a digit is no flag", lsTool(), "-3", ".:read?", "", "-3!"},

		// Operand places.
		{"last is dest", cpTool(), "a b c d", "a:read b:read c:read d:write<a,b,c>", "source=a source=b source=c dest=d", ""},
		{"lone operand is judged as dest", cpTool(), "a", "a:write", "dest=a", ""},
		{"target directory drops dest", cpTool(), "-rt d a b", "d:write<a,b> a:read* b:read*", "recursive target_directory=d source=a source=b", ""},
		{"target directory late", cpTool(), "a b -t d", "a:read b:read d:write<a,b>", "source=a source=b target_directory=d", ""},
		{"base names", cpTool(), "a/b/ / x/.. y/. d", "a/b/:read /:read x/..:read y/.:read d:write<b,.,.,.>", "source=a/b/ source=/ source=x/.. source=y/. dest=d", ""},
		{"-e drops the pattern", grepTool(), "-e x f", "f:read", "regexp=x file=f", ""},
		{"late -e drops the pattern", grepTool(), "f -e x", "f:read", "file=f regexp=x", ""},
		{"-f drops the pattern", grepTool(), "-f pats f", "pats:read f:read", "file_option=pats file=f", ""},
		{"pattern is no path", grepTool(), "/etc/passwd", "", "patterns=/etc/passwd", ""},
		{"list drops operands", sortTool(), "--files0-from=l f", "l:read", "files0_from=l", "f!"},
		{"default", lsTool(), "-a", ".:read?", "all", ""},
		{"no default where an operand is given", lsTool(), "d", "d:read", "file=d", ""},
		{"default recursive", lsTool(), "-R", ".:read*?", "recursive", ""},
		{"default by a flag", grepTool(), "-r x", ".:read*?", "recursive patterns=x", ""},
		{"no default without the flag", grepTool(), "x", "", "patterns=x", ""},
		{"program", sortTool(), "--compress-program=./p", "./p:exec", "compress_program=./p", ""},

		// Obsolete numbers; each checked against the program in
		// TestNumbersAgainstPrograms.
		{"head -NUM", headTool(), "-3 f", "f:read", "lines=3 file=f", ""},
		{"head -NUM with flags", headTool(), "-3qv f", "f:read", "lines=3 quiet verbose file=f", ""},
		{"head -NUMc", headTool(), "-3c f", "f:read", "bytes=3 file=f", ""},
		{"head -NUMk", headTool(), "-3kq f", "f:read", "bytes=3k quiet file=f", ""},
		{"head -NUM late", headTool(), "f -3", "f:read", "file=f", "-3!"},
		{"head -NUMx", headTool(), "-3x f", "f:read", "file=f", "-3x!"},
		{"tail -NUM", tailTool(), "-3 f", "f:read", "lines=3 file=f", ""},
		{"tail +NUM", tailTool(), "+2 f", "f:read", "lines=+2 file=f", ""},
		{"tail -NUMcf", tailTool(), "-2cf f", "f:read", "bytes=2 follow file=f", ""},
		{"tail +NUM --", tailTool(), "+2 -- f", "f:read", "lines=+2 file=f", ""},
		{"tail +NUM before two files is a file", tailTool(), "+2 f g", "+2:read f:read g:read", "file=+2 file=f file=g", ""},
		{"tail late +NUM is a file", tailTool(), "f +2", "f:read +2:read", "file=f file=+2", ""},
		{"tail -NUM before two files", tailTool(), "-3 f g", "f:read g:read", "file=f file=g", "-3!"},
		{"grep -NUM in a cluster", grepTool(), "-5n x f", "f:read", "context=5 line_number patterns=x file=f", ""},
		{"grep cluster with -NUM", grepTool(), "-n12i x", "", "line_number context=12 ignore_case patterns=x", ""},
		{"git log -NUM", gitTool(), "log -3 HEAD", "HEAD:read", "n=3 rev=HEAD", ""},
		{"git log -NUM is whole", gitTool(), "log -3u", "", "", "-3u!"},

		// find.
		{"find", findTool(), "a b -name x", "a:read* b:read*", "path=a path=b name=x", ""},
		{"find without a path", findTool(), "-name x", ".:read*?", "name=x", ""},
		{"find start options", findTool(), "-L -O3 -D all -P a -print", "a:read*", "L O=3 D=all P path=a print", ""},
		{"find ends start options", findTool(), "-H -- a", "a:read*", "H path=a", ""},
		{"find takes no cluster", findTool(), "-HL a", ".:read*?", "", "-HL! a!"},
		{"find start option late", findTool(), "a -L", "a:read*", "path=a", "-L!"},
		{"find matches exactly", findTool(), "a -nam x", "a:read*", "path=a", "-nam! x!"},
		{"find delete", findTool(), "a -delete", "a:read+rebind*", "path=a delete", ""},
		{"find delete the default", findTool(), "-delete", ".:read+rebind*?", "delete", ""},
		{"find path behind the expression", findTool(), "a -print b", "a:read*", "path=a print", "b!"},
		{"find operators", findTool(), "a ( -name x , ! -name y ) -print", "a:read*", "path=a name=x name=y print", ""},
		{"find a first comma is a path", findTool(), ", -print", ",:read*", "path=, print", ""},
		{"find exec", findTool(), "a -exec rm -f {} ; -print", "a:read* rm:exec(rm -f '{}')", "path=a exec=rm -f '{}' ; print", ""},
		{"find exec plus", findTool(), "a -exec rm + {} +", "a:read* rm:exec(rm + '{}')", "path=a exec=rm + '{}' +", ""},
		{"find ok knows no plus", findTool(), "a -ok rm {} + ;", "a:read* rm:exec(rm '{}' +)", "path=a ok=rm '{}' + ;", ""},
		{"find exec without end", findTool(), "a -exec rm {}", "a:read*", "path=a", "-exec! rm! {}!"},
		{"find exec without command", findTool(), "a -exec ;", "a:read*", "path=a", "-exec! ;!"},
		{"find arity two", findTool(), "a -fprintf out %p", "a:read* out:write", "path=a fprintf=out fprintf=%p", ""},
		{"find arity two, short", findTool(), "a -fprintf out", "a:read*", "path=a", "-fprintf! out!"},
		{"find value is taken blindly", findTool(), "a -newer -print", "a:read* -print:read", "path=a newer=-print", ""},
		{"find list drops the default", findTool(), "-files0-from l", "l:read", "files0_from=l", ""},

		// git.
		{"git globals", gitTool(), "-C d log --output=z", "d:read d|z:write", "C=d output=z", ""},
		{"git rebases twice", gitTool(), "-C a -C b diff", "a:read a|b:read", "C=a C=b", ""},
		{"git rebases to an absolute path", gitTool(), "-C a -C /b log -- f", "a:read /b:read /b|f:read", "C=a C=/b path=f", ""},
		{"git rebases what stands before", gitTool(), "--git-dir=g -C d status", "d|g:read d:read d|.:read*?", "git_dir=g C=d", ""},
		{"git config", gitTool(), "-c core.pager=x log", "core.pager=x:config", "c=core.pager=x", ""},
		{"git pathspec", gitTool(), "log HEAD --stat -- f -x", "HEAD:read f:read -x:read", "rev=HEAD stat path=f path=-x", ""},
		{"git does not abbreviate", gitTool(), "log --outp=z", "", "", "--outp=z!"},
		{"git global does not abbreviate", gitTool(), "--git-d=x log", "", "", "--git-d=x!"},
		{"git global behind the subcommand", gitTool(), "log --git-dir=x", "", "", "--git-dir=x!"},
		{"git no-index", gitTool(), "diff --no-index a b", "a:read b:read", "no_index rev=a rev=b", ""},
		{"git unknown subcommand", gitTool(), "-C d push -f", "d:read", "C=d", "push! -f!"},
		{"git --", gitTool(), "-- log", "", "", "--!"},
		{"git alone", gitTool(), "--version", "", "version", ""},
		{"git forced", gitTool(), "--no-pager log", "", "no_pager", ""},
		{"ordered stops at the first operand", &Command{Name: "x", Module: "x", Grammar: Ordered, Flags: []Flag{flag("-a"), valued(Value{Kind: String}, "-n")}, Slots: []Slot{files("w", Value{Kind: String})}}, "-an 1 b -a -- c", "", "a n=1 w=b w=-a w=-- w=c", ""},
		{"empty word", catTool(), "''", ":read", "file=", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			argv := append([]string{tt.tool.Name}, strings.Fields(tt.argv)...)
			for i := range argv {
				if argv[i] == "''" {
					argv[i] = ""
				}
			}
			inv, err := Parse(tt.tool, argv)
			if err != nil {
				t.Fatalf("Parse(%q): %v", argv, err)
			}
			operands, set, unknown := said(inv)
			if operands != tt.operands {
				t.Errorf("Parse(%q) operands:\n got %s\nwant %s", argv, operands, tt.operands)
			}
			if set != tt.set {
				t.Errorf("Parse(%q) set:\n got %s\nwant %s", argv, set, tt.set)
			}
			if unknown != tt.unknown {
				t.Errorf("Parse(%q) unexplained: got %s, want %s", argv, unknown, tt.unknown)
			}
		})
	}
}

func TestParseModule(t *testing.T) {
	inv, err := Parse(gitTool(), []string{"git", "-C", "d", "log"})
	if err != nil {
		t.Fatal(err)
	}
	if inv.Tool != "git" || inv.Module != "git.log" || inv.Command.Name != "log" {
		t.Errorf("got tool %s, module %s, command %s; want git, git.log, log", inv.Tool, inv.Module, inv.Command.Name)
	}
	inv, err = Parse(tailTool(), []string{"tail", "-f", "x"})
	if err != nil {
		t.Fatal(err)
	}
	if inv.Needs != NeedLong {
		t.Errorf("tail -f: needs %b, want %b", inv.Needs, NeedLong)
	}
}

func TestParseArgs(t *testing.T) {
	inv, err := Parse(sortTool(), []string{"sort", "-uo", "out", "--key=1", "in"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Setting{
		{Key: "unique", Bare: true, Arg: 1},
		{Key: "output", Value: "out", Arg: 1},
		{Key: "key", Value: "1", Arg: 3},
		{Key: "file", Value: "in", Arg: 4},
	}
	if diff := cmp.Diff(inv.Set, want); diff != "" {
		t.Errorf("settings (-got +want):\n%s", diff)
	}
	if op := inv.Operands[0]; op.Arg != 2 || op.Flag != "-o" || op.Key != "output" {
		t.Errorf("operand out: got argument %d, flag %s, key %s; want 2, -o, output", op.Arg, op.Flag, op.Key)
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		argv []string
		want string
	}{
		{"empty", nil, "argument 0: no command"},
		{"NUL", []string{"cat", "a\x00b"}, `argument 1: holds a NUL byte: $'a\x00b'`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, parse := range []func() (*Invocation, error){
				func() (*Invocation, error) { return Parse(catTool(), tt.argv) },
				func() (*Invocation, error) { return Unknown(tt.argv) },
			} {
				_, err := parse()
				if _, ok := err.(*Error); !ok || err.Error() != tt.want {
					t.Errorf("got %T %v, want *Error %s", err, err, tt.want)
				}
			}
		})
	}
}

func TestUnexplained(t *testing.T) {
	for _, tt := range []struct {
		tool      *Command
		argv      string
		near, why string
	}{
		{sortTool(), "--ouptut=x", "--output", "no such option"},
		{lsTool(), "--frobnicate", "", "no such option"},
		{cpTool(), "--re a b", "", "ambiguous: --recursive, --reflink, --remove-destination"},
		{sortTool(), "x -o", "", "option -o needs a value"},
		{findTool(), ". -nmae x", "-name", "no such primary"},
		{gitTool(), "stauts", "status", "no such subcommand"},
		{lsTool(), "-Xl", "", "no option -X"},
	} {
		inv, err := Parse(tt.tool, append([]string{tt.tool.Name}, strings.Fields(tt.argv)...))
		if err != nil {
			t.Fatal(err)
		}
		if len(inv.Unexplained) == 0 {
			t.Errorf("%s %s: all explained", tt.tool.Name, tt.argv)
			continue
		}
		if u := inv.Unexplained[0]; u.Nearest != tt.near || u.Why != tt.why {
			t.Errorf("%s %s: got nearest %q, why %q; want %q, %q", tt.tool.Name, tt.argv, u.Nearest, u.Why, tt.near, tt.why)
		}
	}
}

// TestChangesJoin: what two flags change adds up, in either order.
func TestChangesJoin(t *testing.T) {
	a, b := flag("-a"), flag("-b")
	a.Changes = []Change{{Slot: "file", Face: Write, Effect: Overwrite}}
	b.Changes = []Change{{Slot: "file", Face: Rebind, Effect: Remove, Recursive: true}}
	tool := anyTool([]Slot{operand("file", Value{Kind: Path, Face: Read})}, a, b)
	for _, tt := range []struct {
		argv string
		want Value
	}{
		{"f", Value{Kind: Path, Face: Read}},
		{"-a f", Value{Kind: Path, Face: Write, Effect: Overwrite}},
		{"-ab f", Value{Kind: Path, Face: Write | Rebind, Effect: Overwrite | Remove, Recursive: true}},
		{"f -ba", Value{Kind: Path, Face: Write | Rebind, Effect: Overwrite | Remove, Recursive: true}},
	} {
		inv, err := Parse(tool, append([]string{"any"}, strings.Fields(tt.argv)...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(inv.Operands[0].Value, tt.want); diff != "" {
			t.Errorf("any %s (-got +want):\n%s", tt.argv, diff)
		}
	}
}

// TestNearestBounded: the courtesy ends after a few tokens.
func TestNearestBounded(t *testing.T) {
	inv, err := Parse(sortTool(), append([]string{"sort"}, slices.Repeat([]string{"--ouptut"}, nearestTokens+1)...))
	if err != nil {
		t.Fatal(err)
	}
	first, last := inv.Unexplained[0].Nearest, inv.Unexplained[nearestTokens].Nearest
	if first != "--output" || last != "" {
		t.Errorf("nearest of the first is %q, of number %d %q; want --output and none", first, nearestTokens+1, last)
	}
}

func TestUnknown(t *testing.T) {
	inv, err := Unknown([]string{"frob", "-x", "", "a"})
	if err != nil {
		t.Fatal(err)
	}
	operands, _, _ := said(inv)
	if want := "-x:unknown a:unknown"; operands != want || inv.Command != nil {
		t.Errorf("got %s, command %v; want %s and no command", operands, inv.Command, want)
	}
}

// faces is what a call does to which file, without places and spellings.
func faces(inv *Invocation) []string {
	var f []string
	for _, op := range inv.Operands {
		f = append(f, fmt.Sprintf("%s %s %s %v %v %v %v %v", op.Key, op.Text, op.Base, op.Value, op.Stream, op.Sources, op.Inner, op.Arg < 0))
	}
	slices.Sort(f)
	return f
}

// TestSpellings: the way an option is spelt or placed changes nothing.
func TestSpellings(t *testing.T) {
	for _, tt := range []struct {
		tool  *Command
		argvs []string
	}{
		{sortTool(), []string{
			"-u -o out in", "-uo out in", "-uoout in", "-u --output=out in", "-u --output out in", "-u --outp=out in", "-u --o out in",
			"in -u -o out", "in -uo out", "in --uniq --output out", "-uo out -- in", "-o out -u -- in", "-oout in -u",
		}},
		{cpTool(), []string{
			"-r -t d a b", "-rt d a b", "-rtd a b", "a b -t d -r", "a -td b -R", "--recursive --target-directory=d a b",
			"--rec --target d a b", "-rt d -- a b", "a --t=d b --recurs",
		}},
		{grepTool(), []string{"-r -e x d", "-re x d", "-rex d", "d -rex", "--regexp=x d -r", "--rege x --rec d", "-r -e x -- d"}},
		{mkdirTool(), []string{"-p -m 755 d", "-pm 755 d", "-pm755 d", "d -pm755", "--parents --mode=755 d", "--pa d --mo 755"}},
	} {
		want, err := Parse(tt.tool, append([]string{tt.tool.Name}, strings.Fields(tt.argvs[0])...))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range tt.argvs {
			got, err := Parse(tt.tool, append([]string{tt.tool.Name}, strings.Fields(line)...))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Unexplained) > 0 || !reflect.DeepEqual(faces(got), faces(want)) {
				t.Errorf("%s %s:\n got %q, unexplained %v\nwant %q", tt.tool.Name, line, faces(got), got.Unexplained, faces(want))
			}
		}
	}
}

// TestParseLinear counts allocations instead of time: twice the argv may cost
// about twice as many.
func TestParseLinear(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tool  *Command
		token string
	}{
		{"operands", cpTool(), "file"},
		{"flags", sortTool(), "-uko"},
		{"paths of flags", sortTool(), "-Tdir"},
		{"unknown", sortTool(), "--unknown"},
		{"ambiguous", cpTool(), "--re"},
		{"endless commands", findTool(), "-exec"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			allocs := func(n int) float64 {
				argv := append([]string{tt.tool.Name}, slices.Repeat([]string{tt.token}, n)...)
				inv, err := Parse(tt.tool, argv)
				if err != nil {
					t.Fatal(err)
				}
				if got := len(inv.Set) + len(inv.Unexplained); got < n {
					t.Errorf("%d of %d tokens are explained or listed", got, n)
				}
				return testing.AllocsPerRun(1, func() { _, _ = Parse(tt.tool, argv) })
			}
			if once, twice := allocs(10_000), allocs(20_000); twice > 2.2*once+100 {
				t.Errorf("%.0f allocations for 10,000 tokens, %.0f for 20,000", once, twice)
			}
		})
	}
}

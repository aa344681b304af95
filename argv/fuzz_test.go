package argv

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// FuzzParse: whatever the argv, Parse ends, and no token gets lost: each is a
// flag, a value, an operand, an inner word, a subcommand, a mark of the grammar,
// or unexplained.
func FuzzParse(f *testing.F) {
	tools := allTools()
	for i, line := range []string{
		"-n -A a - b", "-uo out --key=1 -- -x", "-rt d a b", "-5ne x --col -r", "-3qv f", "+2 f", "--color=x -R", "-Zp --cont=x d", "a b c",
		"-L -O3 a ( -name x ) -exec rm {} ; -fprintf o %p , -print", "-C a --git-dir=x log -3 HEAD --stat=3 -- f",
	} {
		f.Add(uint8(i), line)
	}
	f.Fuzz(func(t *testing.T, tool uint8, line string) {
		c := tools[int(tool)%len(tools)]
		argv := append([]string{c.Name}, strings.Split(line, " ")...)
		inv, err := Parse(c, argv)
		if err != nil {
			if !strings.Contains(line, "\x00") {
				t.Fatalf("%q: %v", argv, err)
			}
			return
		}
		seen := make([]bool, len(argv))
		seen[0] = true
		for _, op := range inv.Operands {
			if op.Arg < 0 {
				continue
			}
			if !strings.HasSuffix(argv[op.Arg], op.Text) {
				t.Errorf("%q: operand %q is not in argument %d", argv, op.Text, op.Arg)
			}
			for i := range max(1, len(op.Inner)+1) { // with the terminator
				seen[op.Arg+i] = true
			}
		}
		last := map[int]int{} // values come one after the other behind their flag
		for _, s := range inv.Set {
			seen[s.Arg] = true
			if next := max(s.Arg, last[s.Arg]) + 1; !s.Bare && next < len(argv) && argv[next] == s.Value {
				seen[next] = true
				last[s.Arg] = next
			}
		}
		for _, u := range inv.Unexplained {
			if u.Token != argv[u.Arg] || u.Why == "" {
				t.Errorf("%q: unexplained %+v", argv, u)
			}
			seen[u.Arg] = true
		}
		marks := []string{"--", "(", ")", "!", ",", "--no-pager", inv.Command.Name}
		for i, ok := range seen {
			if !ok && !slices.Contains(marks, argv[i]) {
				t.Errorf("%q: argument %d got lost", argv, i)
			}
		}
	})
}

// FuzzRender: whatever the parameters, Render gives an argv that parses, or says
// which parameter is wrong, on one printable line.
func FuzzRender(f *testing.F) {
	tools := allTools()
	for i, params := range []string{
		`{"file":["a","-b"],"number":true}`, `{"output":"-x","key":["1","-2"],"check":"quiet"}`, `{"source":["a"],"dest":"d","backup":true}`,
		`{"patterns":"-x","context":-3,"file":"+1"}`, `{"lines":"-3"}`, `{"follow":"name","file":["+2"]}`, `{"color":"never","1":false}`,
		`{"directory":["-p"],"context":""}`, `{"input":"-","output":"o"}`, `{"exec":["rm","{}"],"O":3,"path":["-x",")"],"fprintf":["o","%p"]}`,
		`{"C":["a","b"],"c":"x=y"}`,
	} {
		f.Add(uint8(i), "", params)
	}
	f.Add(uint8(10), "log", `{"C":"d","rev":["HEAD"],"path":["-x"],"n":3,"stat":true}`)
	f.Fuzz(func(t *testing.T, tool uint8, sub, params string) {
		c := tools[int(tool)%len(tools)]
		argv, err := Render(c, strings.Fields(sub), []byte(params))
		if err != nil {
			var param *ParamError
			var fault *Error
			if !errors.As(err, &param) && !errors.As(err, &fault) {
				t.Fatalf("Render(%s): %v", params, err)
			}
			if Escape(err.Error()) != err.Error() {
				t.Errorf("Render(%s): the message is not printable: %q", params, err)
			}
			return
		}
		inv, err := Parse(c, argv)
		if err != nil || len(inv.Unexplained) > 0 {
			t.Errorf("%s became %q: %v, unexplained %v", params, argv, err, inv.Unexplained)
		}
	})
}

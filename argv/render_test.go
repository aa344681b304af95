package argv

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func repeated(f Flag) Flag {
	f.Repeat = true
	return f
}

func optional(f Flag) Flag {
	f.Optional = true
	return f
}

func excludes(f Flag, keys ...string) Flag {
	f.Excludes = keys
	return f
}

func keyed(key string, f Flag) Flag {
	f.Key = key
	return f
}

func operand(key string, v Value) Slot { return Slot{Key: key, Value: v} }

func TestRender(t *testing.T) {
	str, integer := Value{Kind: String}, Value{Kind: Integer}
	cut := anyTool([]Slot{files("file", readFile())}, valued(str, "-f", "--fields"))
	for _, tt := range []struct {
		name   string
		tool   *Command
		path   string
		params string
		want   []string // without argv[0]
	}{
		{"true is a bare flag", anyTool(nil, flag("--all")), "", `{"all":true}`, []string{"--all"}},
		{"false is nothing", anyTool(nil, flag("--all")), "", `{"all":false}`, nil},
		{"null is nothing", anyTool(nil, flag("--all"), valued(str, "--x")), "", `{"all":null,"x":null}`, nil},
		{"an array repeats the flag", anyTool(nil, repeated(valued(str, "--include"))), "", `{"include":["a","b"]}`, []string{"--include", "a", "--include", "b"}},
		{"one value of a flag that repeats", anyTool(nil, repeated(valued(str, "--include"))), "", `{"include":"a"}`, []string{"--include", "a"}},
		{"dashes to underscores", anyTool(nil, flag("--no-cache")), "", `{"no_cache":true}`, []string{"--no-cache"}},
		{"underscores stay", anyTool(nil, valued(str, "--foo_bar")), "", `{"foo_bar":"v"}`, []string{"--foo_bar", "v"}},
		{"integer", anyTool(nil, valued(integer, "--count")), "", `{"count":5}`, []string{"--count", "5"}},
		{"digits are kept", anyTool(nil, valued(integer, "--count")), "", `{"count":90071992547409931234}`, []string{"--count", "90071992547409931234"}},
		{"number as written", anyTool(nil, valued(Value{Kind: Number}, "--max")), "", `{"max":1.50e3}`, []string{"--max", "1.50e3"}},
		{"number for a string", anyTool(nil, valued(str, "--max")), "", `{"max":1.0}`, []string{"--max", "1.0"}},
		{"negative number", anyTool(nil, valued(integer, "--max")), "", `{"max":-1}`, []string{"--max=-1"}},
		{"short value apart", lsTool(), "", `{"ignore":"*.tmp"}`, []string{"--ignore", "*.tmp"}},
		{"short only", anyTool(nil, valued(str, "-I")), "", `{"I":"*.tmp"}`, []string{"-I", "*.tmp"}},
		{"optional long", lsTool(), "", `{"classify":"never"}`, []string{"--classify=never"}},
		{"optional long, bare", lsTool(), "", `{"classify":true}`, []string{"--classify"}},
		{"optional short", anyTool(nil, optional(valued(str, "-I"))), "", `{"I":"*.tmp"}`, []string{"-I*.tmp"}},
		{"optional short, dash", anyTool(nil, optional(valued(str, "-I"))), "", `{"I":"-x"}`, []string{"-I-x"}},
		{"optional and operand", lsTool(), "", `{"file":["a"],"color":"never"}`, []string{"--color=never", "a"}},
		{"mkdir context", mkdirTool(), "", `{"context":"ctx","directory":["dd"]}`, []string{"--context=ctx", "dd"}},
		{"flags before operands", lsTool(), "", `{"file":"/tmp","l":true}`, []string{"-l", "/tmp"}},
		{"dash-leading long value", cut, "", `{"fields":"-3","file":["f"]}`, []string{"--fields=-3", "f"}},
		{"dash-leading short value", anyTool(nil, valued(str, "-f")), "", `{"f":"-3"}`, []string{"-f-3"}},
		{"option as value", anyTool(nil, valued(str, "--args")), "", `{"args":"--new-window x"}`, []string{"--args=--new-window x"}},
		{"empty value", anyTool([]Slot{operand("path", readFile())}, valued(str, "--message")), "", `{"message":"","path":"f"}`, []string{"--message", "", "f"}},
		{"empty short value", anyTool(nil, valued(str, "-m")), "", `{"m":""}`, []string{"-m", ""}},
		{"dash-leading path", cpTool(), "", `{"source":["-a"],"dest":"--b"}`, []string{"./-a", "./--b"}},
		{"plus-leading path", tailTool(), "", `{"file":["+2"]}`, []string{"./+2"}},
		{"stdin", catTool(), "", `{"file":["-","f"]}`, []string{"-", "f"}},
		{"dash-leading pattern", grepTool(), "", `{"patterns":"-x","file":["f"]}`, []string{"--", "-x", "f"}},
		{"option as pattern", grepTool(), "", `{"patterns":"--pre=./p.sh","file":"."}`, []string{"--", "--pre=./p.sh", "."}},
		{"metacharacters are bytes", anyTool([]Slot{operand("p", str)}), "", `{"p":"; rm -rf / ` + "`id`" + ` $(id) && x"}`, []string{"; rm -rf / `id` $(id) && x"}},
		{"line breaks are bytes", anyTool(nil, valued(str, "--msg")), "", `{"msg":"a\n\u2028\u0085b"}`, []string{"--msg", "a\n\u2028\u0085b"}},
		{"surrogate pair", anyTool(nil, valued(str, "--msg")), "", `{"msg":"\ud83d\ude00\\ud800"}`, []string{"--msg", `😀\ud800`}},
		{"no conflict where false", lsTool(), "", `{"l":true,"1":false}`, []string{"-l"}},
		{"no conflict where empty", anyTool(nil, repeated(excludes(valued(str, "-l"), "1")), flag("-1")), "", `{"l":[],"1":true}`, []string{"-1"}},
		{"declared order", anyTool(nil, flag("--aug"), flag("--bar"), valued(str, "--name")), "", `{"name":"x","bar":false,"aug":true}`, []string{"--aug", "--name", "x"}},
		{"cat", catTool(), "", `{"file":["a.txt","b.txt"],"number":true}`, []string{"--number", "a.txt", "b.txt"}},
		{"cp", cpTool(), "", `{"dest":"d","source":["/etc/hosts"]}`, []string{"/etc/hosts", "d"}},
		{"cp into", cpTool(), "", `{"source":["a"],"target_directory":"d"}`, []string{"--target-directory", "d", "a"}},
		{"grep by file", grepTool(), "", `{"file_option":"pats","file":["x"]}`, []string{"--file", "pats", "x"}},
		{"uniq", uniqTool(), "", `{"output":"b","input":"a"}`, []string{"a", "b"}},
		{"program", sortTool(), "", `{"compress_program":"./p"}`, []string{"--compress-program", "./p"}}, // the guard refuses it

		{"git", gitTool(), "log", `{"oneline":true}`, []string{"--no-pager", "log", "--oneline"}},
		{"git globals first", gitTool(), "log", `{"oneline":true,"C":"/repo","paginate":true}`, []string{"--no-pager", "-C", "/repo", "--paginate", "log", "--oneline"}},
		{"git attaches", gitTool(), "log", `{"C":"sub","n":3,"format":"%H"}`, []string{"--no-pager", "-C", "sub", "log", "--max-count=3", "--format=%H"}},
		{"git global, dash", gitTool(), "log", `{"C":"-x"}`, []string{"--no-pager", "-C", "-x", "log"}},
		{"git dir", gitTool(), "log", `{"git_dir":"/x/.git"}`, []string{"--no-pager", "--git-dir", "/x/.git", "log"}},
		{"git forced once", gitTool(), "log", `{"no_pager":true}`, []string{"--no-pager", "log"}},
		{"git paths", gitTool(), "log", `{"path":["f","-x"],"rev":["HEAD"]}`, []string{"--no-pager", "log", "HEAD", "--", "f", "./-x"}},
		{"git no-index", gitTool(), "diff", `{"no_index":true,"rev":["-a","b"]}`, []string{"--no-pager", "diff", "--no-index", "./-a", "b"}},
		{"git alone", gitTool(), "", `{"version":true}`, []string{"--no-pager", "--version"}},

		{"find", findTool(), "", `{"name":"*.txt","path":["sandbox"]}`, []string{"sandbox", "-name", "*.txt"}},
		{"find deletes last", findTool(), "", `{"delete":true,"name":"x","maxdepth":1,"L":true}`, []string{"-L", "-maxdepth", "1", "-name", "x", "-delete"}},
		{"find start options", findTool(), "", `{"O":3,"D":"all","path":"a"}`, []string{"-D", "all", "-O3", "a"}},
		{"find displaced flag", findTool(), "", `{"path":["."],"path_option":"*/x"}`, []string{".", "-path", "*/x"}},
		{"find odd paths", findTool(), "", `{"path":["-x","(","!",",",")"]}`, []string{"./-x", "./(", "./!", "./,", "./)"}},
		{"find exec", findTool(), "", `{"exec":["rm","{}"]}`, []string{"-exec", "rm", "{}", ";"}},
		{"find exec plus", findTool(), "", `{"exec":[["rm","{}","+"],["ls"]]}`, []string{"-exec", "rm", "{}", "+", "-exec", "ls", ";"}},
		{"find arity two", findTool(), "", `{"fprintf":["out","%p"]}`, []string{"-fprintf", "out", "%p"}},
		{"find value, dash", findTool(), "", `{"name":"-x"}`, []string{"-name", "-x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Render(tt.tool, strings.Fields(tt.path), []byte(tt.params))
			if err != nil {
				t.Fatalf("Render(%s): %v", tt.params, err)
			}
			if want := append([]string{tt.tool.Name}, tt.want...); !slices.Equal(got, want) {
				t.Errorf("Render(%s):\n got %q\nwant %q", tt.params, got, want)
			}
		})
	}
}

func TestRenderErrors(t *testing.T) {
	str := Value{Kind: String}
	proxy := anyTool(nil, valued(str, "--proxy"), valued(Value{Kind: Integer}, "--timeout"), flag("--readonly"))
	pid := anyTool([]Slot{operand("pid", Value{Kind: Integer})})
	for _, tt := range []struct {
		name   string
		tool   *Command
		path   string
		params string
		want   string
	}{
		{"nothing", catTool(), "", ``, `parameters: got nothing, want a JSON object (it ends too early)`},
		{"no JSON", catTool(), "", `{`, `parameters: got {, want a JSON object (it ends too early)`},
		{"no JSON inside", catTool(), "", `{"file":}`, `parameters: got {"file":}, want a JSON object (invalid character '}' looking for beginning of value)`},
		{"no object", catTool(), "", `["a"]`, `parameters: got ["a"], want a JSON object`},
		{"null", catTool(), "", `null`, `parameters: got null, want a JSON object`},
		{"trailing data", catTool(), "", `{} {}`, `parameters: got {} {}, want nothing behind the JSON object`},
		{"duplicate", catTool(), "", `{"file":"a","f\u0069le":"b"}`, `parameter /file: got "b", want each parameter once`},
		{"not UTF-8", catTool(), "", "{\"file\":\"\xff\"}", `parameters: got {"file":"\xff"}, want UTF-8`},
		{"half a pair", catTool(), "", `{"file":"\ud800x"}`, `parameter /file: got "\ud800x", want surrogates in pairs only`},
		{"other half", catTool(), "", `{"file":"\udc00"}`, `parameter /file: got "\udc00", want surrogates in pairs only`},
		{"unknown", catTool(), "", `{"nmuber":true}`, `parameter /nmuber: got true, want a parameter of cat, perhaps number`},
		{"key injection", catTool(), "", `{"output=/etc/x":true}`, `parameter /output=~1etc~1x: got true, want a parameter of cat`},
		{"case counts", catTool(), "", `{"File":"a"}`, `parameter /File: got "a", want a parameter of cat, perhaps file`},
		{"expression", findTool(), "", `{"path":["."],"expression":["-delete"]}`, `parameter /expression: got ["-delete"], want a parameter of find`},
		{"null element", lsTool(), "", `{"file":["a",null]}`, `parameter /file/1: got null, want a path`},
		{"bool element", lsTool(), "", `{"file":[true]}`, `parameter /file/0: got true, want a path`},
		{"nested array", lsTool(), "", `{"file":[["a"]]}`, `parameter /file/0: got ["a"], want a path`},
		{"object", proxy, "", `{"proxy":{"a":1}}`, `parameter /proxy: got {"a":1}, want a string`},
		{"bool for an operand", lsTool(), "", `{"file":true}`, `parameter /file: got true, want a path`},
		{"number for a path", lsTool(), "", `{"file":1}`, `parameter /file: got 1, want a path`},
		{"empty path", lsTool(), "", `{"file":[""]}`, `parameter /file/0: got "", want a path that is not empty`},
		{"empty path of a flag", sortTool(), "", `{"output":""}`, `parameter /output: got "", want a path that is not empty`},
		{"path by a change, empty", anyTool([]Slot{operand("p", str)}, Flag{Names: []string{"--path"}, Changes: []Change{{Slot: "p", Kind: Path, Face: Read}}}), "", `{"p":"","path":true}`, `parameter /p: got "", want a path that is not empty`},
		{"NUL", lsTool(), "", `{"file":"a\u0000"}`, `parameter /file: got "a\u0000", want a path without NUL bytes`},
		{"true for a value", proxy, "", `{"proxy":true}`, `parameter /proxy: got true, want a string`},
		{"false for a value", proxy, "", `{"proxy":false}`, `parameter /proxy: got false, want a string`},
		{"string for a bool", proxy, "", `{"readonly":"False"}`, `parameter /readonly: got "False", want true or false`},
		{"empty string for a bool", proxy, "", `{"readonly":""}`, `parameter /readonly: got "", want true or false`},
		{"number for a bool", proxy, "", `{"readonly":0}`, `parameter /readonly: got 0, want true or false`},
		{"fraction for an integer", proxy, "", `{"timeout":1.0}`, `parameter /timeout: got 1.0, want an integer`},
		{"exponent for an integer", proxy, "", `{"timeout":1e3}`, `parameter /timeout: got 1e3, want an integer`},
		{"string for an integer", proxy, "", `{"timeout":"1"}`, `parameter /timeout: got "1", want an integer`},
		{"array where once", proxy, "", `{"proxy":["a"]}`, `parameter /proxy: got ["a"], want a string`},
		{"array for an operand", cpTool(), "", `{"source":"a","dest":["b"]}`, `parameter /dest: got ["b"], want a path`},
		{"not a word of the enum", sortTool(), "", `{"sort":"num"}`, `parameter /sort: got "num", want one of numeric, month`},
		{"empty optional short value", anyTool(nil, optional(valued(str, "-i"))), "", `{"i":""}`, `parameter /i: got "", want true or a string that is not empty`},
		{"conflict", lsTool(), "", `{"l":true,"1":true}`, `parameter /l: got true, want it absent, since /1 is given`},
		{"conflict, other order", lsTool(), "", `{"1":true,"l":true}`, `parameter /l: got true, want it absent, since /1 is given`},
		{"one-sided conflict", sortTool(), "", `{"output":"o","check":true}`, `parameter /check: got true, want it absent, since /output is given`},
		{"requires", anyTool(nil, Flag{Names: []string{"-a"}, Requires: []string{"b"}}, flag("-b")), "", `{"a":true,"b":false}`, `parameter /a: got true, want /b with it`},
		{"missing operand", mkdirTool(), "", `{"parents":true}`, `parameter /directory: missing, want a path`},
		{"missing, empty array", mkdirTool(), "", `{"directory":[]}`, `parameter /directory: missing, want a path`},
		{"missing operand, alternatives", grepTool(), "", `{"file":["x"]}`, `parameter /patterns: missing, want a pattern, or /regexp, or /file_option`},
		{"missing dest", cpTool(), "", `{"source":["x"]}`, `parameter /dest: missing, want a path, or /target_directory`},
		{"dropped operand", cpTool(), "", `{"source":["x"],"dest":"d","target_directory":"t"}`, `parameter /dest: got "d", want it absent, since /target_directory is given`},
		{"gap", uniqTool(), "", `{"output":"b"}`, `parameter /output: got "b", want /input with it, whose place it would take`},
		{"negative operand", pid, "", `{"pid":-1}`, `parameter /pid: got -1, want a number that is not negative`},
		{"rev that is an option", gitTool(), "diff", `{"rev":["--output=x"]}`, `parameter /rev/0: got "--output=x", want a revision or a path that does not begin with -`},
		{"rev that is an option, without paths", anyTool([]Slot{operand("rev", Value{Kind: Rev, Face: Read})}), "", `{"rev":"-x"}`, `parameter /rev: got "-x", want a revision or a path that does not begin with -`},
		{"exec as a line", findTool(), "", `{"exec":"echo {} ;"}`, `parameter /exec: got "echo {} ;", want an array with the words of a command`},
		{"exec true", findTool(), "", `{"exec":true}`, `parameter /exec: got true, want an array with the words of a command`},
		{"exec nothing", findTool(), "", `{"exec":[[]]}`, `parameter /exec/0: got [], want an array with the words of a command`},
		{"exec ends early", findTool(), "", `{"exec":["rm",";","-delete"]}`, `parameter /exec/1: got ";", want no word that ends the command`},
		{"exec ends early by plus", findTool(), "", `{"exec":[["rm","{}","+","-delete"]]}`, `parameter /exec/0/2: got "+", want no word that ends the command`},
		{"exec plus with two braces", findTool(), "", `{"exec":["ls","{}","{}","+"]}`, `parameter /exec: got ["ls","{}","{}","+"], want one {} before +, alone in its word`},
		{"exec plus, braces in a word", findTool(), "", `{"exec":["ls","x{}","+"]}`, `parameter /exec: got ["ls","x{}","+"], want one {} before +, alone in its word`},
		{"arity", findTool(), "", `{"fprintf":["out"]}`, `parameter /fprintf: got ["out"], want an array of 2 values`},
		{"escaped", lsTool(), "", `{"file":"\u001b[2J\u0000"}`, `parameter /file: got "\u001b[2J\u0000", want a path without NUL bytes`},
		{"shell text in a message", proxy, "", `{"readonly":"<&>"}`, `parameter /readonly: got "<&>", want true or false`},
		{"escaped key", lsTool(), "", `{"\u001b\u202e":1}`, `parameter /\x1b\u202e: got 1, want a parameter of ls`},
		{"long value", catTool(), "", `{"x":"` + strings.Repeat("é", 100) + `"}`, `parameter /x: got "` + strings.Repeat("é", 39) + `…, want a parameter of cat`},
		{"no subcommand", gitTool(), "push", `{}`, `argument 1: push is no subcommand of git`},
		{"no subcommands at all", catTool(), "x", `{}`, `argument 1: x is no subcommand of cat`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Render(tt.tool, strings.Fields(tt.path), []byte(tt.params))
			if err == nil {
				t.Fatalf("Render(%s) = %q, want error %s", tt.params, got, tt.want)
			}
			if err.Error() != tt.want {
				t.Errorf("Render(%s):\n got %s\nwant %s", tt.params, err, tt.want)
			}
			var param *ParamError
			var fault *Error
			if !errors.As(err, &param) && !errors.As(err, &fault) {
				t.Errorf("Render(%s): error is %T", tt.params, err)
			}
		})
	}
}

// TestRenderMismatch: an argv that would mean something else is never returned.
// The description lies: -x is rendered as a flag that Parse does not have.
func TestRenderMismatch(t *testing.T) {
	c := anyTool(nil, flag("--all"), flag("--all"))
	c.Flags[1].Key = "other"
	got, err := Render(c, nil, []byte(`{"other":true}`))
	if err == nil || !strings.Contains(err.Error(), "means something else") {
		t.Errorf("got %q, %v; want the mismatch as an error", got, err)
	}
}

func TestRenderOrder(t *testing.T) {
	members := []string{`"file":["a"]`, `"unique":true`, `"output":"o"`, `"key":["1","2"]`, `"reverse":true`}
	var first []string
	for range 200 {
		members = append(members[1:], members[0])
		members[0], members[2] = members[2], members[0]
		got, err := Render(sortTool(), nil, []byte("{"+strings.Join(members, ",")+"}"))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		if !slices.Equal(got, first) {
			t.Fatalf("got %q, before %q", got, first)
		}
	}
}

func TestParamKey(t *testing.T) {
	for _, tt := range []struct {
		flag Flag
		want string
	}{
		{flag("-o", "--output"), "output"},
		{flag("--no-index"), "no_index"},
		{flag("--find-copies-harder", "--x"), "find_copies_harder"},
		{flag("---presume-input-pipe"), "presume_input_pipe"},
		{flag("-newermt"), "newermt"},
		{flag("-1"), "1"},
		{flag("--foo.bar"), "foo_bar"},
		{flag("("), "_"},
		{keyed("k", flag("--x")), "k"},
		{Flag{}, ""},
	} {
		if got := ParamKey(&tt.flag); got != tt.want {
			t.Errorf("ParamKey(%q) = %q, want %q", tt.flag.Names, got, tt.want)
		}
	}
}

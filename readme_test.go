package wrap_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestConsoleBlocks runs every block fenced as "console" in README.md and
// docs/*.md and compares the whole output, stdout and stderr as they come, with
// what the document shows.
//
// A line "$ COMMAND" is given to one sh per block; what follows, up to the next
// one, is its output. A line "…" stands for any number of lines. Blocks run in
// a fresh copy of the example project, known to the reader as /home/u/project;
// blocks whose first command is make run in the repository itself.
func TestConsoleBlocks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skipf("the documents show what wrap says on Linux; this is %s", runtime.GOOS)
	}
	trackTree(t)
	bin := buildBinaries(t)
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, doc := range append([]string{"README.md"}, docs...) {
		for _, b := range consoleBlocks(t, doc) {
			t.Run(fmt.Sprintf("%s:%d", doc, b.line), func(t *testing.T) { b.run(t, bin) })
			ran++
		}
	}
	if ran < 5 {
		t.Errorf("ran %d blocks, want at least 5: are they still fenced as console?", ran)
	}
}

// TestMatchLines is the proof that a wrong document fails.
func TestMatchLines(t *testing.T) {
	for _, tt := range []struct {
		name, want, got string
		match           bool
	}{
		{"both empty", "", "", true},
		{"equal", "a\nb\n", "a\nb\n", true},
		{"other text", "a\nb\n", "a\nc\n", false},
		{"missing line", "a\nb\n", "a\n", false},
		{"extra line", "a\n", "a\nb\n", false},
		{"output where none is shown", "", "a\n", false},
		{"elided front", "…\nb\n", "x\ny\nb\n", true},
		{"elided middle", "a\n…\nb\n", "a\nb\nx\nb\n", true},
		{"elided end", "a\n…\n", "a\nx\n", true},
		{"elided nothing", "a\n…\nb\n", "a\nb\n", true},
		{"elision does not hide the rest", "a\n…\nb\n", "a\nx\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := matchLines(lines(tt.want), lines(tt.got)); got != tt.match {
				t.Errorf("matchLines(%q, %q) = %t, want %t", tt.want, tt.got, got, tt.match)
			}
		})
	}
}

// block is one console block of a document.
type block struct {
	line     int // of the opening fence
	commands []string
	want     [][]string // the lines shown behind each command
}

// run executes the block and reports each command whose output differs.
func (b block) run(t *testing.T, bin string) {
	// mark ends each command's output; no text of ours holds it.
	const mark = "\x1e"
	var script strings.Builder
	for _, c := range b.commands {
		// $? is handed on, so that a block can show it.
		fmt.Fprintf(&script, "%s\n__status=$?; printf '\\036'; (exit $__status)\n", c)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script.String())
	real, shown := "", "/home/u"
	if strings.HasPrefix(b.commands[0], "make ") {
		repo, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		real, shown = repo, "/home/u/wrap"
		// MAKEFLAGS and MAKELEVEL: `make test` may be our own ancestor.
		cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "XDG_STATE_HOME="+t.TempDir())
	} else {
		real = exampleHome(t)
		cmd.Dir = filepath.Join(real, "project")
		cmd.Env = []string{"PATH=" + bin + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + real, "XDG_STATE_HOME=" + real + "/.local/state", "PWD=" + cmd.Dir, "LC_ALL=C.UTF-8", "TZ=UTC", "NO_COLOR=1"}
	}
	out, err := cmd.CombinedOutput()
	outputs := strings.Split(string(out), mark)
	if len(outputs) != len(b.commands)+1 {
		t.Fatalf("sh ended in the middle (%v); its output:\n%s", err, out)
	}
	for i, c := range b.commands {
		got := lines(strings.ReplaceAll(outputs[i], real, shown))
		if !matchLines(b.want[i], got) {
			t.Errorf("$ %s\n--- got\n%s\n--- the document shows\n%s", c, strings.Join(got, "\n"), strings.Join(b.want[i], "\n"))
		}
	}
}

// consoleBlocks reads the blocks fenced as console, in order.
func consoleBlocks(t *testing.T, doc string) []block {
	t.Helper()
	data, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	inside := false
	for i, line := range lines(string(data)) {
		switch {
		case !inside && line == "```console":
			inside = true
			blocks = append(blocks, block{line: i + 1})
		case inside && line == "```":
			inside = false
		case inside:
			b := &blocks[len(blocks)-1]
			if c, ok := strings.CutPrefix(line, "$ "); ok {
				b.commands = append(b.commands, c)
				b.want = append(b.want, nil)
			} else if len(b.commands) == 0 {
				t.Fatalf("%s:%d: output before the first command", doc, i+1)
			} else {
				last := &b.want[len(b.want)-1]
				*last = append(*last, line)
			}
		}
	}
	if inside {
		t.Fatalf("%s: the last block is not closed", doc)
	}
	return slices.DeleteFunc(blocks, func(b block) bool { return len(b.commands) == 0 })
}

// matchLines reports whether got is want, where a line "…" of want stands for
// any number of lines.
func matchLines(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == "…" {
		for skip := range len(got) + 1 {
			if matchLines(want[1:], got[skip:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && want[0] == got[0] && matchLines(want[1:], got[1:])
}

// lines splits s at line ends; the last line may lack one.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// buildBinaries builds wrap and wrapctl into a directory of the test's own.
func buildBinaries(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", dir+"/", "./cmd/wrap", "./cmd/wrapctl")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return dir
}

// exampleHome makes the home of the documents' examples: a project to work in,
// and a neighbour that it must not see.
func exampleHome(t *testing.T) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"project/in.txt":     "pear\napple\nfig\n",
		"project/a.txt":      "one\ntwo\n",
		"project/b.txt":      "three\n",
		"project/src/main.c": "int main(void) { return 0; }\n",
		"other/secret.txt":   "a neighbour's\n",
		"data/table.csv":     "id,name\n1,ann\n",
	} {
		name = filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

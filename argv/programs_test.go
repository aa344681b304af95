package argv

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// run runs a real program in a scratch directory and returns what it printed
// and whether it exited with 0.
func run(t *testing.T, dir string, argv []string) (string, bool) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func scratch(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		text := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
		if err := os.WriteFile(filepath.Join(dir, n), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestWritesAgainstPrograms: what the real program writes is what Parse says
// that it writes, in every spelling.
func TestWritesAgainstPrograms(t *testing.T) {
	for _, tt := range []struct {
		tool  *Command
		argvs []string
		wrote []string
	}{
		{sortTool(), []string{
			"-o out in", "-oout in", "-uo out in", "-uoout in", "--output=out in", "--outp out in", "in -o out", "in --ou=out -u", "-o out -- in",
			"-k 1 -o out in", "-k1 -ro out in",
		}, []string{"out"}},
		{sortTool(), []string{"-o -u in", "--output -u in", "--out=-u in"}, []string{"-u"}},
		{sortTool(), []string{"-k -o in", "-u in", "-c in -u", "--", "-- in"}, nil},
		{cpTool(), []string{"in out", "-f in out", "in -f out", "-- in out", "--remove-d in out"}, []string{"out"}},
		{cpTool(), []string{"-t d in", "in -t d", "-rt d in", "-rtd in", "--target=d in", "in d", "-r in --t d"}, []string{"d/in"}},
		{mkdirTool(), []string{"-p a", "a -p", "-m 700 a", "-m700 a", "-pm 700 -- a", "--mode 700 a", "--mo=700 a"}, []string{"a"}},
		{mkdirTool(), []string{"-- -p"}, []string{"-p"}},
		{findTool(), []string{"in -fprint out", "-fprint out", "in -fprintf out %p", "in ( -name in -o -name x ) -fprint out", "-O3 in -fprint out"}, []string{"out"}},
		{findTool(), []string{"in -name -fprint"}, nil},
	} {
		need(t, tt.tool.Name)
		for _, line := range tt.argvs {
			dir := scratch(t, "in")
			if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
				t.Fatal(err)
			}
			argv := append([]string{tt.tool.Name}, strings.Fields(line)...)
			inv, err := Parse(tt.tool, argv)
			if err != nil || len(inv.Unexplained) > 0 {
				t.Errorf("%q: %v, unexplained %v", argv, err, inv.Unexplained)
			}
			var said []string
			for _, op := range inv.Operands {
				if op.Value.Face&Write == 0 || op.Stream {
					continue
				}
				info, err := os.Stat(filepath.Join(dir, op.Text))
				if err != nil || !info.IsDir() || op.Sources == nil {
					said = append(said, op.Text)
					continue
				}
				for _, s := range op.Sources {
					said = append(said, op.Text+"/"+s)
				}
			}
			out, ok := run(t, dir, argv)
			if !ok && tt.wrote != nil {
				t.Errorf("%q failed: %s", argv, out)
			}
			var wrote []string
			_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
				if rel, _ := filepath.Rel(dir, path); rel != "." && rel != "in" && rel != "d" {
					wrote = append(wrote, rel)
				}
				return nil
			})
			if !slices.Equal(said, tt.wrote) || !slices.Equal(wrote, tt.wrote) {
				t.Errorf("%q: Parse says %q, the program wrote %q, want %q", argv, said, wrote, tt.wrote)
			}
		}
	}
}

// TestNumbersAgainstPrograms: a number is one exactly where the program takes
// it for one. Each line is run as it stands and in the modern form that the
// parse amounts to; both must print the same.
func TestNumbersAgainstPrograms(t *testing.T) {
	for _, tt := range []struct {
		tool  *Command
		lines []string
	}{
		{headTool(), []string{"-3 f", "-3qv f", "-3c f", "-1k f", "-1b f", "-2cl f", "-12z f", "-3vq f g", "-2 -- f"}},
		{tailTool(), []string{"-3 f", "+10 f", "+10 -- f", "-3 -- f", "-2l f", "-5c f", "+5c f", "-1b f", "+10 f g", "f +10", "-- +10", "-n 3 f"}},
		{grepTool(), []string{"-1 7 f", "-1n 7 f", "-n1 7 f", "7 -1 f", "-n1e 7 f", "-12 7 f", "-m 1 -1 1 f", "-1m1 1 f"}},
	} {
		need(t, tt.tool.Name)
		for _, line := range tt.lines {
			dir := scratch(t, "f", "g", "+10")
			argv := append([]string{tt.tool.Name}, strings.Fields(line)...)
			inv, err := Parse(tt.tool, argv)
			if err != nil || len(inv.Unexplained) > 0 {
				t.Errorf("%q: %v, unexplained %v", argv, err, inv.Unexplained)
				continue
			}
			modern := []string{tt.tool.Name}
			var operands []string
			for _, s := range inv.Set {
				switch {
				case slices.ContainsFunc(tt.tool.Slots, func(x Slot) bool { return x.Key == s.Key }):
					operands = append(operands, s.Value)
				case s.Bare:
					modern = append(modern, "--"+strings.ReplaceAll(s.Key, "_", "-"))
				default:
					modern = append(modern, "--"+strings.ReplaceAll(s.Key, "_", "-")+"="+s.Value)
				}
			}
			modern = append(append(modern, "--"), operands...)
			got, gotOK := run(t, dir, modern)
			want, wantOK := run(t, dir, argv)
			if got != want || !gotOK || !wantOK {
				t.Errorf("%q prints %q (%v), %q prints %q (%v)", argv, want, wantOK, modern, got, gotOK)
			}
		}
	}
	// And what Parse does not explain, the program refuses.
	for _, argv := range [][]string{
		{"head", "f", "-3"}, {"head", "-3x", "f"}, {"head", "-q3", "f"}, {"tail", "-3", "f", "g"}, {"tail", "-q", "-3", "f"}, {"tail", "-3q", "f"},
	} {
		tool := headTool()
		if argv[0] == "tail" {
			tool = tailTool()
		}
		inv, err := Parse(tool, argv)
		if err != nil {
			t.Fatal(err)
		}
		out, ok := run(t, scratch(t, "f", "g"), argv)
		if ok || len(inv.Unexplained) == 0 {
			t.Errorf("%q: the program says %q (%v), unexplained %v", argv, out, ok, inv.Unexplained)
		}
	}
}

// TestRebaseAgainstGit: --git-dir is relative to where -C leads, wherever it
// stands.
func TestRebaseAgainstGit(t *testing.T) {
	need(t, "git")
	dir := t.TempDir()
	if out, ok := run(t, dir, []string{"git", "init", "-q", "a/b"}); !ok {
		t.Fatal(out)
	}
	for _, line := range []string{"-C a -C b --git-dir=.git status", "--git-dir=.git -C a/b status", "--git-dir .git -C a -C ./b status"} {
		argv := append([]string{"git"}, strings.Fields(line)...)
		inv, err := Parse(gitTool(), argv)
		if err != nil || len(inv.Unexplained) > 0 {
			t.Fatalf("%q: %v, unexplained %v", argv, err, inv.Unexplained)
		}
		i := slices.IndexFunc(inv.Operands, func(op Operand) bool { return op.Key == "git_dir" })
		got := filepath.Join(inv.Operands[i].Base, inv.Operands[i].Text)
		out, ok := run(t, dir, argv)
		if got != "a/b/.git" || !ok {
			t.Errorf("%q: git dir %s, want a/b/.git; git says %s", argv, got, out)
		}
	}
}

// TestInnerAgainstFind: the command of -exec ends where find ends it, and what
// Parse does not explain, find refuses.
func TestInnerAgainstFind(t *testing.T) {
	need(t, "find")
	for _, tt := range []struct {
		argv string
		want string // what echo prints, "" where find refuses
	}{
		{"f -exec echo a ;", "a"},
		{"f -exec echo {} + x ;", ""}, // "+" ends it
		{"f -exec echo {} +", "f"},
		{"f -exec echo + {} +", "+ f"},
		{"f -exec echo x{} + ;", ""},
		{"f -exec echo {} {} +", ""},
		{"f -exec echo {} x +", ""},
		{"f -exec echo {} x + ;", "f x +"},
		{"f -exec echo {} ; -name ;", "f"},
		{"f -exec echo -delete ;", "-delete"},
		{"f -exec echo a", ""},
		{"f -exec ;", ""},
		{"f -exec", ""},
		{"-P f -exec echo a ;", "a"},
		{"-HL f -exec echo a ;", ""},
		{"f -L -exec echo a ;", ""},
		{"f -exec echo a ; f", ""},
		{"-- f -exec echo a ;", "a"},
		{"-O2 -D search f -exec echo a ;", "a"},
		{"( f -exec echo a ; )", ""},
		{"f ( -exec echo a ; , -name f )", "a"},
	} {
		argv := append([]string{"find"}, strings.Fields(tt.argv)...)
		inv, err := Parse(findTool(), argv)
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		if len(inv.Unexplained) == 0 {
			op := inv.Operands[len(inv.Operands)-1]
			said = strings.ReplaceAll(strings.Join(op.Inner[1:], " "), "{}", "f")
		}
		out, ok := run(t, scratch(t, "f"), argv)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if out = lines[len(lines)-1]; !ok {
			out = ""
		}
		if said != tt.want || out != tt.want {
			t.Errorf("%q: Parse says %q (unexplained %v), find says %q, want %q", argv, said, inv.Unexplained, out, tt.want)
		}
	}
}

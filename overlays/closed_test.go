package overlays_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/overlays"
)

// These tests hold the descriptions to the programs installed here: an option
// that a program accepts and nobody described, or described otherwise, fails.

// missing skips, or fails where CI=true: there the programs are installed.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// needVersion skips if o's program is not here in a version that o claims.
func needVersion(t *testing.T, o *overlays.Overlay) {
	t.Helper()
	if _, err := exec.LookPath(o.Tool); err != nil {
		missing(t, "%s is not installed", o.Tool)
	}
	out := asks(t, t.TempDir(), append([]string{o.Tool}, o.Probe.Args...)...)
	if version, ok, verified := o.Match([]byte(out)); !ok || !verified {
		missing(t, "%s here is version %q (variant matches: %v), want %s", o.Tool, version, ok, o.Versions)
	}
}

// asks runs a program that is expected to complain, in dir, with no input, and
// returns what it printed.
func asks(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = environ(dir)
	out, _ := cmd.CombinedOutput() // its exit code says nothing here
	if ctx.Err() != nil {
		t.Fatalf("%q did not end", argv)
	}
	return string(out)
}

func environ(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat",
		"GIT_OPTIONAL_LOCKS=0", "MANPATH=" + home,
	}
}

// spelt is what the tests compare: which spellings there are, and for each
// whether it takes a value: "no", "yes" or "optional".
func spelt(c *argv.Command) map[string]string {
	all := map[string]string{}
	for _, f := range c.Flags {
		for _, name := range f.Names {
			long := strings.HasPrefix(name, "--")
			switch {
			case len(f.Values) == 0 || f.OptionalLong && !long:
				all[name] = "no"
			case f.Optional || f.OptionalLong:
				all[name] = "optional"
			default:
				all[name] = "yes"
			}
		}
	}
	return all
}

// undescribed are the options left out on purpose, with what they do instead of
// what getopt_long(3) does. An argv with one of them is unexplained.
var undescribed = map[string][]string{
	"sort": {"-y"}, // takes the next argument only if that is a number
}

// before are arguments that let a program end: tail follows until this process,
// which there is none of, ends. It also keeps tail from the obsolete options
// that it knows as argument 1 only.
var before = map[string][]string{
	"tail": {"--pid=2147483646", "-s.01"},
}

// TestClosedGNU asks each program that uses getopt_long(3) for all its options:
// "--=" is a prefix of every long one, so glibc lists them; short ones are tried
// one by one.
func TestClosedGNU(t *testing.T) {
	for _, o := range described(t) {
		if o.Command.Grammar != argv.GNU {
			continue
		}
		t.Run(o.Tool, func(t *testing.T) {
			t.Parallel()
			needVersion(t, o)
			got := map[string]string{}
			dir := t.TempDir()
			list := asks(t, dir, o.Tool, "--=")
			_, list, _ = strings.Cut(list, "possibilities:")
			list, _, _ = strings.Cut(list, "\n")
			for name := range strings.FieldsSeq(list) {
				name = strings.Trim(name, "'")
				got[name] = longArity(t, dir, o.Tool, name)
			}
			if len(got) < 5 {
				t.Fatalf("%s lists the long options %v only: the sweep does not work", o.Tool, got)
			}
			for b := byte('!'); b <= '~'; b++ {
				name := "-" + string(rune(b))
				if b == '-' || b >= '0' && b <= '9' && o.Command.Dashes != "" || slices.Contains(undescribed[o.Tool], name) {
					continue
				}
				if arity := shortArity(t, dir, o.Tool, name); arity != "" {
					got[name] = arity
				}
			}
			compareSpelt(t, got, spelt(&o.Command))
		})
	}
}

func compareSpelt(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if got[name] != want[name] {
			t.Errorf("%s takes a value: %s, described: %q", name, got[name], want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] == "" {
			t.Errorf("%s is described, and the program does not know it", name)
		}
	}
}

func longArity(t *testing.T, dir, tool, name string) string {
	t.Helper()
	call := append([]string{tool}, before[tool]...)
	if strings.Contains(asks(t, dir, append(call, name)...), "requires an argument") {
		return "yes"
	}
	if strings.Contains(asks(t, dir, append(call, name+"=1")...), "doesn't allow an argument") {
		return "no"
	}
	return "optional"
}

func shortArity(t *testing.T, dir, tool, name string) string {
	t.Helper()
	switch out := asks(t, dir, append(append([]string{tool}, before[tool]...), name)...); {
	case strings.Contains(out, "invalid option") || strings.Contains(out, "unrecognized option"):
		return ""
	case strings.Contains(out, "requires an argument"):
		return "yes"
	}
	return "no"
}

// words are the NUL-terminated words of a program file, with every tail of each:
// linkers share tails between strings.
func words(t *testing.T, tool string, form *regexp.Regexp) []string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range form.FindAllSubmatch(text, -1) {
		for w := m[1]; len(w) > 0; w = w[1:] {
			seen[string(w)] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// TestClosedFind tries every word in the program's file as a primary.
func TestClosedFind(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs find two thousand times")
	}
	o := overlays.Lookup("find")[0]
	needVersion(t, o)
	dir := t.TempDir()
	got := map[string]string{}
	try := func(name string) {
		out := asks(t, dir, "find", "-maxdepth", "0", name)
		switch {
		case strings.Contains(out, "unknown predicate"), strings.Contains(out, "unrecognized"):
		case strings.Contains(out, "missing argument"), strings.Contains(out, "invalid argument"):
			got[name] = "yes"
		default:
			got[name] = "no"
		}
	}
	for _, w := range words(t, "find", regexp.MustCompile(`([a-z0-9_-]{1,22})\x00`)) {
		try("-" + w)
	}
	for _, x := range "aBcmt" {
		for _, y := range "aBcmt" {
			name := fmt.Sprintf("-newer%c%c", x, y)
			if name == "-newertB" { // the complaint about B comes before that about t
				continue
			}
			// Where the file system keeps no birth times find says so, and that it
			// knows what was asked.
			if out := asks(t, dir, "find", "-maxdepth", "0", name, "."); !strings.Contains(out, "invalid predicate") || strings.Contains(out, "birth time") {
				got[name] = "yes"
			}
		}
	}
	for _, name := range []string{"-H", "-L", "-P", "-D", "-O"} { // and every other capital
		out := asks(t, dir, "find", name)
		got[name] = "no"
		if strings.Contains(out, "Missing argument") || strings.Contains(out, "must be immediately followed") {
			got[name] = "yes"
		}
	}
	for b := 'A'; b <= 'Z'; b++ {
		if !strings.ContainsRune("HLPDO", b) && !strings.Contains(asks(t, dir, "find", "-"+string(b)), "unknown predicate") {
			t.Errorf("find knows -%c", b)
		}
	}
	want := spelt(&o.Command)
	for _, f := range o.Command.Flags {
		for _, name := range f.Names {
			if len(f.Until) > 0 {
				want[name] = "yes"
			}
			if len(f.Values) == 2 && !strings.Contains(asks(t, dir, "find", "-maxdepth", "0", name, "x"), "argument") {
				t.Errorf("%s takes one value", name)
			}
			// What takes one value only leaves the next word to the expression.
			if len(f.Values) == 1 && len(name) > 2 && name != "-files0-from" {
				if out := asks(t, dir, "find", name, "1", "-no-such-primary"); strings.Contains(out, "`-no-such-primary' to") {
					t.Errorf("%s takes two values: %s", name, out)
				}
			}
		}
	}
	compareSpelt(t, got, want)
}

// TestClosedGit tries words of git's file as options of git and of each of the
// subcommands: those with dashes before them, those that git's texts name, and
// those that are described, with "no-" in front too. With
// WRAP_SWEEP=full it tries every word there is, which takes minutes.
func TestClosedGit(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs git thousands of times")
	}
	o := overlays.Lookup("git")[0]
	needVersion(t, o)
	form := regexp.MustCompile(`--([a-z][a-z0-9-]{1,38})`)
	full := os.Getenv("WRAP_SWEEP") == "full"
	if full {
		form = regexp.MustCompile(`([a-z0-9][a-z0-9-]{0,38})[=:]?\x00`)
	}
	set := map[string]bool{}
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range form.FindAllSubmatch(append(text, documents(t)...), -1) {
		set[string(m[1])] = true
	}
	dir := t.TempDir()
	asks(t, dir, "git", "init", "-q", ".")
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asks(t, dir, "git", "add", "a")
	asks(t, dir, "git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "a")

	commands := []*argv.Command{&o.Command}
	for i := range o.Command.Subs {
		commands = append(commands, &o.Command.Subs[i])
	}
	for _, c := range commands {
		t.Run(c.Module, func(t *testing.T) {
			t.Parallel()
			head := []string{"git"}
			if c != &o.Command {
				head = append(head, c.Name)
			}
			names := map[string]bool{}
			for w := range set {
				if c.Name != "show" || full { // which is read by the code that reads log
					names["--"+w] = true
				}
			}
			// Only the options that git's completion lists may be cut short.
			whole := map[string]bool{}
			if c != &o.Command {
				for _, sub := range []string{c.Name, "diff"} {
					for name := range strings.FieldsSeq(asks(t, dir, "git", sub, "--git-completion-helper-all")) {
						if name = strings.TrimSuffix(name, "="); name != "--" && (sub == c.Name || c.Name != "status") {
							names[name], whole[name] = true, true
						}
					}
				}
			}
			want := spelt(c)
			for name := range want {
				names[name] = true
				if rest, ok := strings.CutPrefix(name, "--"); ok {
					names["--no-"+rest] = true
				}
			}
			for b := byte('!'); b <= '~'; b++ {
				if b < '0' || b > '9' {
					names["-"+string(rune(b))] = true
				}
			}
			got := map[string]string{}
			for _, name := range slices.Sorted(maps.Keys(names)) {
				if name == "--" || name == "--end-of-options" || name == "--help" || name == "-h" {
					continue // the last two print at length and run others
				}
				if arity := gitArity(t, dir, head, name); arity != "" && (want[name] != "" || !shortened(name, whole)) {
					got[name] = arity
				}
			}
			if n := len(got); c != &o.Command && n < 25 {
				t.Fatalf("%d options only: the sweep does not work", n)
			}
			delete(want, "--help")
			delete(want, "-h")
			compareSpelt(t, got, want)
		})
	}
}

// documents are the texts that come with git, those that are here: they name
// options that its file holds without dashes.
func documents(t *testing.T) []byte {
	t.Helper()
	all, err := os.ReadFile("/usr/share/bash-completion/completions/git")
	if err != nil {
		t.Logf("without the completion script: %v", err)
	}
	for _, page := range []string{"git", "git-log", "git-diff", "git-show", "git-status"} {
		f, err := os.Open("/usr/share/man/man1/" + page + ".1.gz")
		if err != nil {
			t.Logf("without the manual: %v", err)
			continue
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.ReplaceAll(text, []byte(`\-`), []byte("-"))...)
	}
	return append(all, '\n')
}

// shortened reports whether name is one of the options in whole, or its
// opposite, cut short: git accepts that, and we do not explain it.
func shortened(name string, whole map[string]bool) bool {
	if whole[name] {
		return false
	}
	for full := range whole {
		rest, _ := strings.CutPrefix(full, "--")
		if strings.HasPrefix(full, name) || strings.HasPrefix("--no-"+rest, name) {
			return true
		}
		if rest, ok := strings.CutPrefix(rest, "no-"); ok && strings.HasPrefix("--"+rest, name) {
			return true
		}
	}
	return false
}

var (
	gitRefuses = regexp.MustCompile(`unrecognized argument|unknown (option|switch)|invalid option|takes no value|ambiguous option`)
	gitNeeds   = regexp.MustCompile(`requires (a|an) (value|argument)|Option '.*' requires|bad --default|no (directory|namespace|prefix|config key) given`)
)

// gitArity is how git takes name, "" if it does not know it.
func gitArity(t *testing.T, dir string, head []string, name string) string {
	t.Helper()
	ask := func(more ...string) (string, bool) {
		out := asks(t, dir, append(slices.Clone(head), more...)...)
		first, _, _ := strings.Cut(out, "\n")
		return first, gitRefuses.MatchString(first) && !strings.Contains(first, "requires a value")
	}
	bareOut, bareBad := ask(name)
	needs := gitNeeds.MatchString(bareOut) ||
		len(head) == 1 && slices.Contains([]string{"-C", "-c", "--shallow-file"}, name) // which look for no value
	if strings.HasPrefix(name, "--") {
		_, attachedBad := ask(name + "=1")
		switch {
		case bareBad && attachedBad:
			return ""
		case needs || bareBad:
			return "yes"
		case attachedBad:
			return "no"
		}
		return "optional"
	}
	if bareBad {
		return ""
	}
	if needs {
		return "yes"
	}
	if _, bad := ask(name + ","); !bad {
		return "optional"
	}
	return "no"
}

package argv

import "testing"

// The commands of these tests are cut to what the tests need; the full ones are
// the overlays'. They are functions so that no test can change another's.

func readFile() Value { return Value{Kind: Path, Face: Read, Dash: "stdin"} }

func files(key string, v Value) Slot { return Slot{Key: key, Value: v, Repeat: true, Optional: true} }

func flag(names ...string) Flag { return Flag{Names: names} }

func valued(v Value, names ...string) Flag { return Flag{Names: names, Values: []Value{v}} }

func anyTool(slots []Slot, flags ...Flag) *Command {
	return &Command{Name: "any", Module: "any", Flags: flags, Slots: slots}
}

func catTool() *Command {
	return &Command{
		Name: "cat", Module: "cat", Access: Always,
		Flags: []Flag{flag("-n", "--number"), flag("-b", "--number-nonblank"), flag("-A", "--show-all")},
		Slots: []Slot{files("file", readFile())},
	}
}

func sortTool() *Command {
	temp := valued(Value{Kind: Path, Face: Write, Effect: Replace}, "-T", "--temporary-directory")
	temp.Repeat = true
	key := valued(Value{Kind: String}, "-k", "--key")
	key.Repeat = true
	list := valued(Value{Kind: Path, Face: Read, Lists: Read, Dash: "stdin"}, "--files0-from")
	list.Changes = []Change{{Slot: "file", Drop: true}}
	check := valued(Value{Kind: Enum, Of: []string{"quiet", "silent", "diagnose-first"}}, "-c", "--check")
	check.OptionalLong = true
	check.Excludes = []string{"output"}
	return &Command{
		Name: "sort", Module: "sort", Access: PerCall,
		Flags: []Flag{
			flag("-u", "--unique"),
			flag("-r", "--reverse"),
			key,
			valued(Value{Kind: Path, Face: Write, Effect: Overwrite}, "-o", "--output"),
			temp, list, check,
			valued(Value{Kind: Program}, "--compress-program"),
			valued(Value{Kind: Enum, Of: []string{"numeric", "month"}}, "--sort"),
		},
		Slots: []Slot{files("file", readFile())},
	}
}

func cpTool() *Command {
	dest := Value{Kind: Path, Face: Write, Effect: Overwrite | Replace, Names: "sources"}
	target := valued(dest, "-t", "--target-directory")
	target.Changes = []Change{{Slot: "dest", Drop: true}}
	recursive := flag("-r", "-R", "--recursive")
	recursive.Changes = []Change{{Slot: "source", Recursive: true}, {Slot: "dest", Effect: Overwrite | MakeDir | Tree}}
	backup := valued(Value{Kind: Enum, Of: []string{"none", "numbered", "existing", "simple"}}, "-b", "--backup")
	backup.OptionalLong = true
	return &Command{
		Name: "cp", Module: "cp", Access: Never,
		Flags: []Flag{
			recursive, target, backup, flag("-f", "--force"),
			valued(Value{Kind: Enum, Of: []string{"auto", "always", "never"}}, "--reflink"),
			flag("--remove-destination"),
		},
		Slots: []Slot{
			{Key: "source", Value: Value{Kind: Path, Face: Read}, Repeat: true},
			{Key: "dest", Value: dest},
		},
	}
}

func grepTool() *Command {
	pattern := []Change{{Slot: "patterns", Drop: true}}
	regexp := valued(Value{Kind: Pattern}, "-e", "--regexp")
	regexp.Repeat, regexp.Changes = true, pattern
	file := valued(Value{Kind: Path, Face: Read, Dash: "stdin"}, "-f", "--file")
	file.Key, file.Repeat, file.Changes = "file_option", true, pattern
	recursive := flag("-r", "--recursive")
	recursive.Changes = []Change{{Slot: "file", Recursive: true, Default: "."}}
	color := valued(Value{Kind: Enum, Of: []string{"never", "always", "auto"}}, "--color", "--colour")
	color.Optional = true
	return &Command{
		Name: "grep", Module: "grep", Access: Always, Dashes: "context", Digits: DigitsCluster,
		Flags: []Flag{
			regexp, file, recursive, color,
			flag("-i", "--ignore-case"), flag("-n", "--line-number"), flag("-c", "--count"),
			valued(Value{Kind: Integer}, "-C", "--context"),
			valued(Value{Kind: Integer}, "-m", "--max-count"),
			valued(Value{Kind: Path, Face: Read}, "--exclude-from"),
		},
		Slots: []Slot{{Key: "patterns", Value: Value{Kind: Pattern}}, files("file", readFile())},
	}
}

func headTool() *Command {
	return &Command{
		Name: "head", Module: "head", Access: Always, Dashes: "lines", Digits: DigitsHead,
		Flags: []Flag{
			valued(Value{Kind: String}, "-c", "--bytes"), valued(Value{Kind: String}, "-n", "--lines"),
			flag("-q", "--quiet", "--silent"), flag("-v", "--verbose"), flag("-z", "--zero-terminated"),
		},
		Slots: []Slot{files("file", readFile())},
	}
}

func tailTool() *Command {
	follow := valued(Value{Kind: Enum, Of: []string{"descriptor", "name"}}, "-f", "--follow")
	follow.OptionalLong, follow.Needs = true, NeedLong
	return &Command{
		Name: "tail", Module: "tail", Access: Always, Dashes: "lines", Digits: DigitsTail,
		Flags: []Flag{
			valued(Value{Kind: String}, "-c", "--bytes"), valued(Value{Kind: String}, "-n", "--lines"),
			follow, flag("-q", "--quiet", "--silent"),
		},
		Slots: []Slot{files("file", readFile())},
	}
}

func lsTool() *Command {
	classify := valued(Value{Kind: Enum, Of: []string{"always", "auto", "never"}}, "-F", "--classify")
	classify.OptionalLong = true
	color := valued(Value{Kind: Enum, Of: []string{"always", "auto", "never"}}, "--color")
	color.Optional = true
	one, long := flag("-1"), flag("-l")
	one.Excludes, long.Excludes = []string{"l"}, []string{"1"}
	recursive := flag("-R", "--recursive")
	recursive.Changes = []Change{{Slot: "file", Recursive: true}}
	return &Command{
		Name: "ls", Module: "ls", Access: Always,
		Flags: []Flag{
			long, one, flag("-a", "--all"), flag("-A", "--almost-all"), flag("-r", "--reverse"), recursive, classify, color,
			valued(Value{Kind: Pattern}, "-I", "--ignore"),
		},
		Slots: []Slot{{Key: "file", Value: Value{Kind: Path, Face: Read}, Repeat: true, Optional: true, Default: "."}},
	}
}

func mkdirTool() *Command {
	context := valued(Value{Kind: String}, "-Z", "--context")
	context.OptionalLong = true
	return &Command{
		Name: "mkdir", Module: "mkdir", Access: Never,
		Flags: []Flag{flag("-p", "--parents"), context, valued(Value{Kind: String}, "-m", "--mode")},
		Slots: []Slot{{Key: "directory", Value: Value{Kind: Path, Face: Write, Effect: MakeDir}, Repeat: true}},
	}
}

func uniqTool() *Command {
	return &Command{
		Name: "uniq", Module: "uniq", Access: PerCall,
		Slots: []Slot{
			{Key: "input", Value: readFile(), Optional: true},
			{Key: "output", Value: Value{Kind: Path, Face: Write, Effect: Overwrite, Dash: "stdout"}, Optional: true},
		},
	}
}

func findTool() *Command {
	ranked := func(rank int, f Flag) Flag {
		f.Rank, f.Repeat = rank, true
		return f
	}
	remove := flag("-delete")
	remove.Rank = 90
	remove.Changes = []Change{{Slot: "path", Face: Read | Rebind, Effect: Remove | Tree}}
	list := valued(Value{Kind: Path, Face: Read, Lists: Read, Dash: "stdin"}, "-files0-from")
	list.Changes = []Change{{Slot: "path", Drop: true}}
	printed := Value{Kind: Path, Face: Write, Effect: Overwrite}
	exec := func(until ...string) Flag { return Flag{Rank: 90, Repeat: true, Until: until} }
	run, ok := exec(";", "+"), exec(";")
	run.Names, ok.Names = []string{"-exec"}, []string{"-ok"}
	level := valued(Value{Kind: Integer}, "-O")
	return &Command{
		Name: "find", Module: "find", Access: PerCall, Grammar: Find,
		Flags: []Flag{
			flag("-H"), flag("-L"), flag("-P"), valued(Value{Kind: String}, "-D"), level,
			remove, run, ok,
			ranked(90, Flag{Names: []string{"-fprintf"}, Values: []Value{printed, {Kind: String}}}),
			ranked(90, valued(printed, "-fprint")),
			ranked(90, flag("-print")),
			ranked(10, valued(Value{Kind: Pattern}, "-name")),
			ranked(10, Flag{Names: []string{"-path"}, Key: "path_option", Values: []Value{{Kind: Pattern}}}),
			ranked(10, valued(Value{Kind: Path, Face: Read}, "-newer")),
			valued(Value{Kind: Integer}, "-maxdepth"),
			list,
			flag("-o", "-or"), flag("-not"),
		},
		Slots: []Slot{{Key: "path", Value: Value{Kind: Path, Face: Read, Recursive: true}, Repeat: true, Optional: true, Default: "."}},
	}
}

func gitTool() *Command {
	dir := valued(Value{Kind: Path, Face: Read, Rebases: true}, "-C")
	dir.Repeat = true
	config := valued(Value{Kind: Config}, "-c")
	config.Repeat = true
	noIndex := flag("--no-index")
	noIndex.Changes = []Change{{Slot: "rev", Kind: Path}}
	stat := valued(Value{Kind: String}, "--stat")
	stat.Optional = true
	output := valued(Value{Kind: Path, Face: Write, Effect: Overwrite}, "--output")
	rev := files("rev", Value{Kind: Rev, Face: Read})
	path := files("path", Value{Kind: Path, Face: Read})
	path.AfterDashes = true
	return &Command{
		Name: "git", Module: "git", Grammar: Ordered,
		Forced: []string{"--no-pager"},
		Flags: []Flag{
			dir, config,
			valued(Value{Kind: Path, Face: Read}, "--git-dir"),
			flag("-p", "--paginate"), flag("--no-pager"), flag("-v", "--version"),
		},
		Subs: []Command{
			{
				Name: "log", Module: "git.log", Access: Always, Grammar: Git, Dashes: "n",
				Flags: []Flag{
					flag("--oneline"), stat, output,
					{Names: []string{"-n", "--max-count"}, Key: "n", Values: []Value{{Kind: Integer}}},
					flag("--patch", "-u"),
					valued(Value{Kind: String}, "--format"),
				},
				Slots: []Slot{rev, path},
			},
			{
				Name: "diff", Module: "git.diff", Access: Always, Grammar: Git,
				Flags: []Flag{noIndex, stat, output, flag("--cached", "--staged")},
				Slots: []Slot{rev, path},
			},
			{
				Name: "status", Module: "git.status", Access: Always, Grammar: Git,
				Flags:    []Flag{flag("-s", "--short")},
				Slots:    []Slot{{Key: "pathspec", Value: Value{Kind: Path, Face: Read}, Repeat: true, Optional: true}},
				Implicit: []Slot{{Key: "worktree", Value: Value{Kind: Path, Face: Read, Recursive: true}, Default: "."}},
			},
		},
	}
}

func allTools() []*Command {
	return []*Command{
		catTool(), sortTool(), cpTool(), grepTool(), headTool(), tailTool(), lsTool(), mkdirTool(), uniqTool(), findTool(), gitTool(),
	}
}

func TestCheckAcceptsTools(t *testing.T) {
	for _, c := range allTools() {
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

package main

import (
	"bytes"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A report is a fault that somebody met in public in a similar product, as a
// run of the built launcher: R is a scratch directory, and every run starts in
// R/w unless dir says otherwise.
type report struct {
	id    string
	setup string // a shell script, run in R
	dir   string
	args  string // split at spaces, R replaced; or argv
	argv  []string
	stdin string
	code  int
	out   string // a regular expression for stdout, "" for nothing
	err   string // a regular expression for stderr, "" for anything
	check string // a shell script that must succeed in R afterwards
}

var reports = []report{
	{
		id: "A01 sibling with the same prefix, absolute", setup: "mkdir share share-evil; echo S >share-evil/loot",
		dir: "share", args: "--readonly cat R/share-evil/loot", code: 126, err: `outside the root R/share$`,
	},
	{
		id: "A01 relative", setup: "mkdir share share-evil; echo S >share-evil/loot",
		dir: "share", args: "--readonly cat ../share-evil/loot", code: 126, err: `outside the root`,
	},
	{
		id: "A01 write", setup: "mkdir share share-evil; echo S >share-evil/loot",
		dir: "share", args: "tee ../share-evil/loot", code: 126, err: `outside the root`, check: `grep -q S share-evil/loot`,
	},
	{id: "A01 twin", setup: "mkdir share; echo S >share/loot", dir: "share", args: "--readonly cat R/share/loot", out: "^S\n$"},
	{id: "A02 link to a file outside", setup: "ln -s /etc/passwd w/leak", args: "--readonly cat leak", code: 126, err: `leak \(/etc/passwd\), outside the root`},
	{id: "A02 link to a directory outside", setup: "ln -s /etc w/d", args: "--readonly cat d/passwd", code: 126, err: `/etc/passwd`},
	{id: "A02 twin: a link inside", setup: "echo in >w/f; ln -s f w/l", args: "--readonly cat l", out: "^in\n$"},
	{
		id: "A04 workdir is a sibling", setup: "mkdir project project-evil; ", dir: ".",
		args: "--root R/project --workdir R/project-evil ls", code: 126, err: `project-evil`,
	},
	{
		id: "A04 workdir is a link out", setup: "mkdir project other; ln -s ../other project/x", dir: ".",
		args: "--root R/project --workdir x ls", code: 126, err: `.`,
	},
	{
		id: "A04 twin", setup: "mkdir -p project/sub; echo 1 >project/sub/f", dir: ".",
		args: "--root R/project --workdir sub cat f", out: "^1\n$",
	},
	{
		id: "A05 write through a link out", setup: "echo keep >victim; ln -s ../victim w/a.txt",
		args: "tee a.txt", stdin: "x", code: 126, err: `outside the root`, check: `grep -qx keep victim`,
	},
	{id: "A05 twin", setup: "echo old >w/b; ln -s b w/a.txt", args: "tee a.txt", stdin: "x", out: "^x$", check: `[ "$(cat w/b)" = x ]`},
	{
		id: "A05 dangling link out", setup: "ln -s ../victim w/a.txt",
		args: "tee a.txt", stdin: "x", code: 126, err: `outside the root`, check: `[ ! -e victim ]`,
	},
	{id: "A07 a link is judged by where it points", setup: "echo ok >w/ok; ln -s ok w/l", args: "--readonly cat l", out: "^ok\n$"},
	{id: "A08 missing parents are not made", setup: ":", args: "tee a/b/out.txt", stdin: "x", code: 1, out: ".", check: `[ ! -e w/a ]`},
	{id: "A09 hard link, read", setup: "echo SECRET >s; ln s w/s", args: "--readonly cat s", out: "SECRET"},
	{
		id: "A10 hard link, written in place", setup: "echo keep >log; ln log w/log", args: "tee log", stdin: "x",
		code: 126, err: `log`, check: `grep -qx keep log`,
	},
	{id: "A10 twin: replaced by rename", setup: "echo keep >log; ln log w/log; echo new >w/n", args: "mv n log", check: `grep -qx keep log && grep -qx new w/log`},
	{
		id: "A11 hard link out of a read-only grant", setup: "mkdir ro; echo a >ro/a",
		args: "--ro R/ro cp -l R/ro/a a", code: 126, err: `.`, check: `[ ! -e w/a ]`,
	},
	{id: "A15 --git-dir and --work-tree", setup: "git init -q out", args: "git --git-dir=R/out/.git --work-tree R/out status", code: 126, err: `outside the root`},
	{id: "A15 sort -T", setup: "mkdir out; echo 1 >w/f", args: "sort -T R/out f", code: 126, err: `-T`},
	{id: "A15 sort -T attached", setup: "mkdir out; echo 1 >w/f", args: "sort -TR/out f", code: 126, err: `-T`},
	{id: "A15 sort -T joined", setup: "mkdir out; echo 1 >w/f", args: "sort --temporary-directory=R/out f", code: 126, err: `--temporary-directory`},
	{
		id: "A20 deny by a link's name", setup: "mkdir w/dot; echo z >w/dot/zshrc; ln -s dot/zshrc w/.zshrc",
		args: "--deny .zshrc --readonly cat .zshrc", code: 126, err: `den`,
	},
	{
		id: "A20 deny, the target", setup: "mkdir w/dot; echo z >w/dot/zshrc; ln -s dot/zshrc w/.zshrc",
		args: "--deny .zshrc --readonly cat dot/zshrc", code: 126, err: `den`,
	},
	{
		id: "A20 twin", setup: "mkdir w/dot; echo z >w/dot/zshrc; echo y >w/dot/y; ln -s dot/zshrc w/.zshrc",
		args: "--deny .zshrc --readonly cat dot/y", out: "^y\n$",
	},
	{
		id: "A21 deny on the resolved path", setup: "mkdir w/priv w/pub; echo s >w/priv/s; ln -s ../priv/s w/pub/link",
		args: "--deny priv --readonly cat pub/link", code: 126, err: `den`,
	},
	{
		id: "A24 workdir against the root", setup: "mkdir -p elsewhere/sub w/sub; echo w >w/sub/f; echo e >elsewhere/sub/f",
		dir: "elsewhere", args: "--root R/w --workdir sub --readonly cat f", out: "^w\n$",
	},
	{
		id: "A25 absolute path inside the root", setup: "mkdir elsewhere; echo 1 >w/f", dir: "elsewhere",
		args: "--root R/w --readonly cat R/w/f", out: "^1\n$",
	},
	{id: "A25 missing workdir is its own error", setup: ":", args: "--workdir gone cat f", code: 125, err: `^wrap: .*gone`},
	{id: "A26 workdir ..", setup: "mkdir .ssh", args: "--workdir ../.ssh ls", code: 126, err: `.`},
	{id: "A26 workdir above", setup: ":", args: "--workdir .. ls", code: 126, err: `outside the root`},
	{id: "A26 workdir far above", setup: "mkdir w/a", args: "--workdir a/../../.. ls", code: 126, err: `outside the root`},
	{id: "A28 file URL as a path", args: "--readonly cat file:///etc/passwd", code: 126, err: `outside the root`},
	{id: "A28 with a host", args: "--readonly cat file://localhost/etc/passwd", code: 126, err: `outside the root`},
	{id: "A28 in capitals", args: "--readonly cat FILE:///etc/passwd", code: 126, err: `outside the root`},
	{id: "A28 without slashes", args: "--readonly cat file:/etc/passwd", code: 126, err: `outside the root`},
	{id: "A28 encoded", args: "--readonly cat file:///etc%2fpasswd", code: 126, err: `outside the root`},
	{id: "A28 another scheme", args: "--readonly cat http://localhost/x", code: 126, err: `is a URL`},
	{id: "A28 twin: a colon in a name", setup: "echo 1 >w/a:b; echo 2 >w/file:c; echo 2 >w/c", args: "--readonly cat a:b file:c", out: "^1$"},
	{id: "A35 two dots in a name", setup: "echo d >w/a..b", args: "--readonly cat a..b", out: "^d\n$"},
	{id: "A35 dots inside the root", setup: "mkdir w/src w/lib; echo l >w/lib/f", args: "--readonly ls src/../lib", out: "^f\n$"},
	{
		id: "A35 a revision range", setup: "cd w; git init -q -b main .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; git branch dev; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two",
		args: "--readonly git log --format=%s dev..main", out: "^two\n$",
	},
	{id: "A35 dash-glued traversal", setup: "echo 1 >w/f", args: "sort -o../escape f", code: 126, err: `outside the root`, check: `[ ! -e escape ]`},
	{id: "A35 joined traversal", setup: "echo 1 >w/f", args: "sort --output=../secret f", code: 126, err: `outside the root`},
	{id: "A39 /proc/self/root", args: "--readonly cat /proc/self/root/etc/passwd", code: 126, err: `.`},
	{id: "A39 /proc/self/cwd", setup: "echo 1 >w/f", args: "--readonly cat /proc/self/cwd/f", code: 126, err: `.`},
	{id: "A39 /proc/self/environ", args: "--readonly cat /proc/self/environ", code: 126, err: `.`},
	{id: "A39 a descriptor beyond two", args: "--readonly cat /proc/self/fd/3", code: 126, err: `.`},
	{id: "A39 by a link inside the root", setup: "ln -s /proc/self/environ w/l", args: "--readonly cat l", code: 126, err: `.`},
	{id: "A39 no grant opens it", args: "--ro /proc --readonly cat /proc/self/environ", code: 126, err: `.`},
	{id: "A39 /dev/stdin is the descriptor", args: "--readonly cat /dev/stdin", stdin: "hello", out: "^hello$"},
	{id: "A39 /dev/fd/0 is the descriptor", args: "--readonly cat /dev/fd/0", stdin: "hello", out: "^hello$"},
	{id: "A39 /dev/null", args: "--readonly cat /dev/null"},
	{id: "A40 * is a byte", setup: "echo 1 >'w/*'; echo 2 >w/x", args: "--readonly cat *", out: "^1\n$"},
	{id: "A41 a list of files", setup: "echo key >key; printf '%s\\0' $PWD/key >w/list", args: "--readonly wc --files0-from=list", code: 1, err: `.`},
	{id: "A41 sort's list", setup: "echo key >key; printf '%s\\0' $PWD/key >w/list", args: "--readonly sort --files0-from=list", code: 2, err: `.`},
	{id: "A41 twin", setup: "echo key >w/key; printf 'key\\0' >w/list", args: "--readonly sort --files0-from=list", code: 0, out: "^key\n$"},
	{id: "C07 an empty argument is kept", args: "--readonly sh -c", argv: []string{"--readonly", "sh", "-c", `printf '[%s]' "$@"`, "x", "", "f"}, out: `^\[\]\[f\]$`},
	{id: "C09 only the first -- is wrap's", argv: []string{"--readonly", "--", "sh", "-c", `printf '[%s]' "$@"`, "x", "--", "npx", "--yes"}, out: `^\[--\]\[npx\]\[--yes\]$`},
	{id: "C10 a single dash is kept", argv: []string{"--readonly", "--", "sh", "-c", `printf '[%s]' "$@"`, "x", "-y", "-", "--setting"}, out: `^\[-y\]\[-\]\[--setting\]$`},
	{id: "C15 no shell", setup: "echo 1 >'w/x && touch P'", argv: []string{"--readonly", "cat", "x && touch P"}, out: "^1\n$", check: `[ ! -e w/P ]`},
	{id: "C05 no coercion", args: `--params {"number":"False"} cat`, code: 125, err: `/number`},
	{id: "C17 abbreviated", setup: "echo 1 >w/f", args: "--readonly sort f --outp=R/o", code: 126, check: `[ ! -e o ]`},
	{id: "C20 globals stand before the subcommand", setup: "git init -q w/sub", args: `--dry-run --json --params {"max_count":3,"C":"sub"} git log`, out: `"argv":\["git","--no-pager","-C","sub","log","--max-count=3"\]`},
	{id: "D24 the reader leaves", argv: []string{"--readonly", "sh", "-c", "kill -PIPE $$"}, code: 141},
	{id: "F02 a single file and /dev/null", setup: "echo x >f", args: "--ro R/f --readonly grep x R/f /dev/null", out: "x"},
	{id: "F05 env in a script's first line", setup: "printf '#!/usr/bin/env sh\\necho ran\\n' >w/s; chmod +x w/s", args: "--readonly ./s", out: "^ran\n$"},
	{id: "F05 env -S", setup: "printf '#!/usr/bin/env -S sh -e\\necho ran\\n' >w/s; chmod +x w/s", args: "--readonly ./s", out: "^ran\n$"},
	{id: "F06 a bare name is not looked up here", setup: "printf '#!/bin/sh\\necho ran\\n' >w/t.sh; chmod +x w/t.sh", args: "t.sh", code: 127, err: `PATH`},
	{id: "F07 rename and link across directories", setup: "mkdir w/s; echo 1 >w/f; echo 2 >w/a", args: "mv f s/f", check: `[ -e w/s/f ]`},
	{id: "F07 an unknown tool too", setup: "mkdir w/s; echo 1 >w/f; echo 2 >w/a", argv: []string{"sh", "-c", "mv f s/f && ln a s/a"}, check: `[ -e w/s/f ] && [ w/a -ef w/s/a ]`},
	{id: "F08 a directory is renamed and removed", setup: "mkdir -p w/d1/x", args: "mv d1 d2", check: `[ -d w/d2/x ]`},
	{id: "F08 rm -r", setup: "mkdir -p w/d1/x", args: "rm -r d1", check: `[ ! -e w/d1 ]`},
	{id: "F08 rmdir, unknown", setup: "mkdir -p w/d1", args: "rmdir d1", check: `[ ! -e w/d1 ]`},
	{id: "F08 rmdir, read-only", setup: "mkdir -p w/d1", args: "--readonly rmdir d1", code: 1, err: `.`, check: `[ -d w/d1 ]`},
	{id: "F16 names are found with a network, wherever resolv.conf leads", argv: []string{"--net", "all", "--readonly", "sh", "-c", "getent hosts localhost >/dev/null && cat /etc/resolv.conf >/dev/null && echo found"}, out: "^found$"},
	{id: "F16 twin: not without", argv: []string{"--readonly", "sh", "-c", "cat /etc/resolv.conf"}, code: 1, err: "Permission denied"},
	{id: "F21 ln inside", setup: "echo 1 >w/a", args: "ln a b", check: `[ w/a -ef w/b ]`},
	{id: "F23 a deny that covers the root", args: "--deny .. cat f", code: 125, err: `--deny|den`},
	{
		id: "G08 a name cannot forge a line", argv: []string{"--readonly", "cat", "../x\n\x1b[31mwrap: allowed\u202etxt"}, code: 126,
		err: `^wrap: refused: [^\n\x1b\x{202e}]*\n(wrap: [^\n\x1b\x{202e}]*\n)*$`,
	},
	{
		id: "G09 nor rewrite one", argv: []string{"--readonly", "cat", "../a\r\x1b[2K   command: ls"}, code: 126,
		err: `^[^\r\x1b]*$`,
	},
}

func TestReports(t *testing.T) {
	bin := buildWrap(t)
	for _, tt := range reports {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			R := t.TempDir()
			for _, d := range []string{"w", "home", "tmp"} {
				if err := os.Mkdir(filepath.Join(R, d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			sh := func(script string) error {
				c := osexec.Command("sh", "-ec", script)
				c.Dir = R
				c.Env = append(os.Environ(), "HOME="+R+"/home", "GIT_CONFIG_NOSYSTEM=1")
				out, err := c.CombinedOutput()
				if err != nil {
					return errors.Join(err, errors.New(string(out)))
				}
				return nil
			}
			if err := sh(tt.setup); tt.setup != "" && err != nil {
				t.Fatalf("setup: %v", err)
			}
			args := tt.argv
			if args == nil {
				args = strings.Fields(strings.ReplaceAll(tt.args, "R/", R+"/"))
			}
			dir := tt.dir
			if dir == "" {
				dir = "w"
			}
			c := osexec.Command(bin, args...)
			c.Dir = filepath.Join(R, dir)
			c.Env = append(os.Environ(), "HOME="+R+"/home", "XDG_STATE_HOME="+R+"/state", "LC_ALL=C.UTF-8")
			c.Stdin = strings.NewReader(tt.stdin)
			var stdout, stderr bytes.Buffer
			c.Stdout, c.Stderr = &stdout, &stderr
			c.Run()
			if got := c.ProcessState.ExitCode(); got != tt.code {
				t.Errorf("wrap %q: exit %d, want %d\nstdout %s\nstderr %s", args, got, tt.code, &stdout, &stderr)
			}
			match(t, "stdout", stdout.String(), tt.out, R)
			if tt.err != "" {
				match(t, "stderr", stderr.String(), tt.err, R)
			}
			if err := sh(tt.check); tt.check != "" && err != nil {
				t.Errorf("wrap %q: afterwards %q: %v", args, tt.check, err)
			}
		})
	}
}

func match(t *testing.T, what, got, want, R string) {
	t.Helper()
	if want == "" {
		if got != "" {
			t.Errorf("%s is %q, want nothing", what, got)
		}
		return
	}
	re := regexp.MustCompile("(?m)" + strings.ReplaceAll(want, "R/", regexp.QuoteMeta(R)+"/"))
	if !re.MatchString(got) {
		t.Errorf("%s is %q, want a match of %s", what, got, re)
	}
}

// buildWrap builds the launcher as it ships.
func buildWrap(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "wrap")
	out, err := osexec.Command("go", "build", "-o", bin, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

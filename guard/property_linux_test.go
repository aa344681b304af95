package guard

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/guard/path"
)

// places are one of each region, and more.
var places = []string{
	"a", "gone", "d", "d/b", "d/gone", "link", "linkd", "dangling", "linkout", "out/../a", "hard", ".", ".git/config", ".envrc", ".ssh/id",
	"R/w/a", "R/out", "R/outdir", "R/outdir/f", "R/outdir/gone", "../out", "../outlink", "R/home", "R/home/.ssh/id", "R/home/.bashrc", "R/home/.config", "R/home/x",
	"R/own/x", "R/denied/x", "R/denied", "R/tmp/x", "/etc/passwd", "/etc/shadow", "/usr/share", "/usr/bin/env", "/proc/uptime", "/dev/null", "/dev/mem",
	"/proc/self/exe", "/", "/tmp", "/srv/gone", "-", "loop", "",
}

var uses = []argv.Value{
	{Face: argv.Read},
	{Face: argv.Read, Recursive: true},
	{Face: argv.Read | argv.Rebind, Effect: argv.HardLink},
	{Face: argv.Write, Effect: argv.Overwrite},
	{Face: argv.Write, Effect: argv.Replace},
	{Face: argv.Read | argv.Write, Effect: argv.Replace | argv.Attr},
	{Face: argv.Write, Effect: argv.MakeDir},
	{Face: argv.Write | argv.Rebind, Effect: argv.Overwrite | argv.Replace | argv.MakeDir | argv.Tree},
	{Face: argv.Rebind, Effect: argv.Remove},
	{Face: argv.Rebind, Effect: argv.Remove | argv.Tree, Recursive: true},
	{Face: argv.Read | argv.Rebind, Effect: argv.Remove | argv.HardLink},
	{},
}

func propertyStage(t testing.TB) *stage {
	return newStage(t, "out", "outdir/f", "home/.ssh/id", "home/.bashrc", "home/x", "home/.config/", "own/x", "denied/x", "tmp/", "hardout",
		"w/a", "w/d/b", "w/link -> a", "w/linkd -> d", "w/dangling -> gone", "w/linkout -> ../out", "w/hard => R/hardout", "w/out/", "w/loop -> loop", "outlink -> outdir/f")
}

// call is a request with the one operand text, used as v says.
func (st *stage) call(text string, v argv.Value) *Request {
	v.Kind = argv.Path
	return &Request{
		Root: st.root("R/w"), Mode: ReadWrite, Kernel: whole, Tmp: st.R + "/tmp",
		Policy: Policy{Homes: []string{st.R + "/home"}, Own: []string{st.R + "/own"}, Deny: []string{st.R + "/denied"}},
		Tool:   Tool{Name: "tool", Overlay: "tool@x", Verified: true},
		Call: &argv.Invocation{
			Argv: []string{"tool", text}, Command: &argv.Command{Name: "tool"},
			Operands: []argv.Operand{{Arg: 1, Text: text, Value: v, Stream: text == "-"}},
		},
	}
}

// TestRemedyFlips: a remedy is offered if and only if it makes the call be
// admitted, over regions × uses × modes × grants. The changes are applied here by
// their words, as a caller would.
func TestRemedyFlips(t *testing.T) {
	st := propertyStage(t)
	offered, none, allowed := 0, 0, 0
	for _, place := range places {
		for n, v := range uses {
			for _, mode := range []Mode{ReadOnly, ReadWrite} {
				for _, forced := range []bool{false, true} {
					for _, given := range []argv.Face{0, argv.Read, anyUse} {
						if forced && mode == ReadOnly {
							continue
						}
						req := st.call(st.path(place), v)
						req.Mode = mode
						if forced {
							req.Call.Command.Access = argv.Always
						}
						if given != 0 {
							grants("R/outdir", given)(st, req)
						}
						name := fmt.Sprintf("%q, use %d (%v), mode %d, forced %t, granted %v", place, n, v.Face, mode, forced, given)
						d, err := Decide(req)
						d.Close()
						req.Root.Close()
						if err == nil {
							allowed++
							continue
						}
						ref := err.(*RefusedError).Refusals[0]
						if ref.Remedy != nil {
							offered++
							if !admitted(st, req, strings.Split(ref.Remedy.Change, " and ")...) {
								t.Errorf("%s: %s: %q does not help", name, ref.Message, ref.Remedy.Change)
							}
							continue
						}
						none++
						p := argv.Quote(ref.Path)
						for _, change := range [][]string{{"drop --readonly"}, {"add --ro " + p}, {"add --rw " + p}, {"drop --readonly", "add --rw " + p}} {
							if ref.Path == "" && change[0] != "drop --readonly" {
								continue
							}
							if admitted(st, req, change...) {
								t.Errorf("%s: %s: %q would help and is not offered", name, ref.Message, change)
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d allowed, %d refused with a remedy, %d without", allowed, offered, none)
	if offered < 300 || none < 300 || allowed < 300 {
		t.Errorf("%d allowed, %d with a remedy, %d without: want 300 of each at least", allowed, offered, none)
	}
}

// admitted is whether the call is admitted with the changes made.
func admitted(st *stage, req *Request, changes ...string) bool {
	c := *req
	c.Root = st.root("R/w")
	defer c.Root.Close()
	for _, change := range changes {
		p, rw := strings.CutPrefix(change, "add --rw ")
		if ro, ok := strings.CutPrefix(change, "add --ro "); ok {
			p = ro
		}
		switch {
		case change == "drop --readonly":
			c.Mode = ReadWrite
		case rw:
			c.Policy.Grants = append(slices.Clone(c.Policy.Grants), Grant{p, anyUse, "--rw"})
		default:
			c.Policy.Grants = append(slices.Clone(c.Policy.Grants), Grant{p, argv.Read, "--ro"})
		}
	}
	d, err := Decide(&c)
	if d != nil {
		d.Close()
	}
	return err == nil
}

// TestMonotone: what is admitted in a read-only
// call is admitted in one that writes, and what is admitted without a grant or
// with a denial is admitted with it, or without.
func TestMonotone(t *testing.T) {
	st := propertyStage(t)
	checked := 0
	for _, place := range places {
		for n, v := range uses {
			strict := st.call(st.path(place), v)
			strict.Mode = ReadOnly
			if !admitted(st, strict) {
				continue
			}
			checked++
			for _, change := range []string{"drop --readonly", "add --ro " + st.R + "/outdir", "add --rw " + st.R} {
				if !admitted(st, strict, change) {
					t.Errorf("%q, use %d: admitted, but not if we %s", place, n, change)
				}
			}
			strict.Policy.Deny = nil
			if !admitted(st, strict) {
				t.Errorf("%q, use %d: admitted, but not without a denial", place, n)
			}
		}
	}
	if checked < 50 {
		t.Errorf("%d cells, want 50 at least", checked)
	}
}

// TestSpelling: another spelling of the same path never changes the verdict.
func TestSpelling(t *testing.T) {
	st := propertyStage(t)
	checked := 0
	for _, place := range places {
		place := st.path(place)
		if place == "" || place == "-" {
			continue
		}
		spellings := []string{strings.ReplaceAll(place, "/", "//"), strings.ReplaceAll(place, "/", "/./")}
		if !strings.HasPrefix(place, "/") {
			spellings = append(spellings, "./"+place, "d/../"+place, st.R+"/w/"+place, "../w/"+place, "linkd/../"+place, ".//"+place)
		} else {
			spellings = append(spellings, "/.."+place, "../../../../../../../../../../.."+place, "/tmp/.."+place)
		}
		for n, v := range uses {
			want, wantErr := Decide(st.call(place, v))
			want.Close()
			for _, s := range spellings {
				got, err := Decide(st.call(s, v))
				got.Close()
				checked++
				if fmt.Sprint(verdict(got), refusalCodes(err)) != fmt.Sprint(verdict(want), refusalCodes(wantErr)) {
					t.Errorf("use %d: %q is %v %v, but %q is %v %v", n, place, verdict(want), refusalCodes(wantErr), s, verdict(got), refusalCodes(err))
				}
			}
		}
	}
	if checked < 1000 {
		t.Errorf("%d spellings checked, want 1000 at least", checked)
	}
}

func verdict(d *Decision) Verdict {
	v := d.Operands[0]
	v.Text, v.Nlink = "", 0 // others make directories in /tmp
	return v
}

func refusalCodes(err error) string {
	if err == nil {
		return "allowed"
	}
	return codes(err.(*RefusedError).Refusals)
}

// TestRaceOperand: while an operand is exchanged with a link to a secret, no
// decision opens the secret, and each is about the file that its handle holds.
func TestRaceOperand(t *testing.T) {
	st := newStage(t, "secret", "w/legit", "w/link -> ../secret")
	var fine, secret unix.Stat_t
	if err := unix.Stat(st.R+"/w/legit", &fine); err != nil {
		t.Fatal(err)
	}
	if err := unix.Stat(st.R+"/secret", &secret); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, st.R+"/w/legit", unix.AT_FDCWD, st.R+"/w/link", unix.RENAME_EXCHANGE); err != nil {
					t.Errorf("renameat2: %v", err)
					return
				}
			}
		}
	})
	req := st.request("cat", "legit")
	allowed, refused := 0, 0
	for range 3000 {
		d, err := Decide(req)
		if err != nil {
			refused++
			continue
		}
		allowed++
		var st unix.Stat_t
		if len(d.Handles()) != 1 || unix.Fstat(d.Handles()[0], &st) != nil || st.Ino != fine.Ino || d.Operands[0].Ino != fine.Ino {
			t.Fatalf("a decision about %+v holds inode %d, want %d (the secret is %d)", d.Operands, st.Ino, fine.Ino, secret.Ino)
		}
		d.Close()
	}
	close(stop)
	wg.Wait()
	t.Logf("%d allowed, %d refused", allowed, refused)
	if allowed < 100 || refused < 100 {
		t.Errorf("%d allowed, %d refused: the attacker is too weak", allowed, refused)
	}
}

// TestRootMoves: the root is its descriptor, whatever its name comes to mean.
func TestRootMoves(t *testing.T) {
	st := newStage(t, "w/f", "evil/f", "evil/g")
	req := st.request("cat", "f")
	if err := unix.Rename(st.R+"/w", st.R+"/moved"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Rename(st.R+"/evil", st.R+"/w"); err != nil {
		t.Fatal(err)
	}
	d, refs := decide(t, req)
	if len(refs) > 0 || d.Operands[0].Resolved != st.R+"/moved/f" {
		t.Errorf("cat f: %v, %+v, want the file in the directory that was opened", refs, d.Operands)
	}
	abs := st.request("cat", st.R+"/w/g")
	abs.Root = req.Root
	if _, refs := decide(t, abs); len(refs) != 1 || refs[0].Code != CodeForeignTemp && refs[0].Code != CodeOutsideRoot {
		t.Errorf("cat R/w/g: %v, want it outside", refs)
	}
}

func TestZeroRequest(t *testing.T) {
	st := newStage(t, "w/a")
	full := st.request("cat", "a")
	noRoot, noCall, noArgv := *full, *full, *full
	noRoot.Root, noCall.Call, noArgv.Call = nil, nil, &argv.Invocation{}
	for name, req := range map[string]*Request{"nil": nil, "zero": {}, "no root": &noRoot, "no call": &noCall, "no argv": &noArgv} {
		if d, err := Decide(req); d != nil || err == nil || !strings.Contains(err.Error(), "nothing is known") {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	closed := *full
	closed.Root = st.root("R/w")
	closed.Root.Close()
	if d, err := Decide(&closed); d != nil || err == nil {
		t.Errorf("closed root: %v, %v", d, err)
	}
	if _, refs := decide(t, full); len(refs) > 0 {
		t.Errorf("the control case is refused: %v", refs)
	}
}

func TestMalformedPolicy(t *testing.T) {
	st := newStage(t, "w/sub/f", "w/l -> l")
	for _, tt := range []struct {
		name string
		with func(*stage, *Request)
		want bool
	}{
		{"F23 a denial above the root", denies("R"), true},
		{"of the root", denies("R/w"), true},
		{"in other capitals", func(st *stage, req *Request) { req.Policy.Deny = []string{strings.ToUpper(st.R)} }, true},
		{"empty", denies(""), true},
		{"a loop", denies("R/w/l"), true},
		{"beneath the root", denies("R/w/sub"), false},
		{"beside it", denies("R/w2"), false},
		{"an empty grant", grants("", argv.Read), true},
		{"a grant of a loop", grants("R/w/l", argv.Read), true},
		{"a grant of nothing", grants("R/gone", argv.Read), false},
	} {
		req := st.request("ls")
		tt.with(st, req)
		d, err := Decide(req)
		if d != nil {
			d.Close()
		}
		if _, ok := err.(*PolicyError); ok != tt.want || !tt.want && err != nil {
			t.Errorf("%s: %v, want a *PolicyError: %t", tt.name, err, tt.want)
		}
	}
	req := st.request("ls")
	workdir("sub")(st, req)
	denies("R/w/sub")(st, req)
	if _, err := Decide(req); err == nil {
		t.Error("a denial of the working directory is accepted")
	}
}

func TestOpenRoot(t *testing.T) {
	st := newStage(t, "home/project/", "own/x", "alias -> home")
	opt := RootOptions{Homes: []string{st.R + "/home", st.R + "/alias"}, Own: []string{st.R + "/own"}}
	for _, tt := range []struct {
		name  string
		code  Code // "" for one that may be the root as it is
		named Code // and if it is named
	}{
		{"R/w", "", ""},
		{"R/home/project", "", ""},
		{"R/home", CodeRootTooWide, ""},
		{"R/alias", CodeRootTooWide, ""},
		{"R", CodeRootTooWide, ""},
		{"R/own", CodeRootTooWide, ""},
		{"/", CodeRootTooWide, ""},
		{"/usr", CodeRootTooWide, ""},
		{"/etc", CodeRootTooWide, ""},
		{"/proc/self", CodeRawDevice, CodeRawDevice},
		{"/dev", CodeRawDevice, CodeRawDevice},
		{"/sys/kernel", CodeRawDevice, CodeRawDevice},
	} {
		for _, named := range []bool{false, true} {
			opt.Named = named
			want := tt.code
			if named {
				want = tt.named
			}
			r, err := OpenRoot(st.path(tt.name), opt)
			if err != nil {
				ref, ok := err.(*Refusal)
				if !ok || ref.Code != want || (ref.Remedy != nil) != (ref.Code == CodeRootTooWide) {
					t.Errorf("OpenRoot(%s), named %t: %v, want %q", tt.name, named, err, want)
				}
				continue
			}
			if want != "" {
				t.Errorf("OpenRoot(%s), named %t: want %q", tt.name, named, want)
			}
			if dev, ino := r.Identity(); dev == 0 || ino == 0 || r.FD() < 0 {
				t.Errorf("OpenRoot(%s): identity %d, %d, descriptor %d", tt.name, dev, ino, r.FD())
			}
			r.Close()
			r.Close()
		}
	}
	for _, name := range []string{"R/gone", "R/own/x", "R/own/x/", "", "a\x00b"} {
		r, err := OpenRoot(st.path(name), opt)
		if _, refused := err.(*Refusal); err == nil || refused || r != nil {
			t.Errorf("OpenRoot(%q): %v, want a plain error", name, err)
		}
	}
}

// TestRoot in a protected place: it is open, what is protected beneath it is not.
func TestRootInProtectedPlace(t *testing.T) {
	st := newStage(t, "home/.ssh/project/f", "home/.ssh/project/.ssh/id", "home/.ssh/id")
	for text, want := range map[string]string{"f": "allowed", ".ssh/id": "path.credential", "../id": "path.credential", ".git/config": "allowed"} {
		req := st.call(text, argv.Value{Face: argv.Read})
		req.Root = st.root("R/home/.ssh/project")
		d, err := Decide(req)
		d.Close()
		if got := refusalCodes(err); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestClosed: every role has a rule for every face, a mutating face is never
// more open than a reading one, and no role that is not known is open.
func TestClosed(t *testing.T) {
	for _, role := range []path.Role{
		path.RawDevice, path.CredentialStore, path.Own, path.SystemIntegrity, path.TrustRoot, path.TrustFile, path.Landmark, path.WorktreeTrusted,
		path.Unknown, path.Scratch, path.PackageContent, path.Worktree, path.StandardStream,
	} {
		read, _, _ := closed(role, argv.Read, 0)
		for _, v := range uses {
			code, reason, what := closed(role, v.Face, v.Effect)
			if read != "" && code == "" {
				t.Errorf("%s: closed to be read and open to %v", role, v.Face)
			}
			if (code == "") != (reason == "") || (code == "") != (what == "") {
				t.Errorf("%s, %v: %q, %q, %q", role, v.Face, code, reason, what)
			}
		}
	}
	if code, _, _ := closed("new", argv.Read, 0); code == "" {
		t.Error("a role that is not known is open")
	}
}

func TestHarmlessConfig(t *testing.T) {
	for text, want := range map[string]bool{
		"color.ui=always": true, "COLOR.UI=never": true, "core.quotePath=false": true, "user.name=a b": true, "diff.renames": true, "log.date=iso": true,
		"core.pager=x": false, "core.fsmonitor=x": false, "core.sshCommand=x": false, "core.hooksPath=x": false, "core.editor=x": false, "core.attributesFile=x": false,
		"alias.x=!sh": false, "diff.external=x": false, "diff.x.textconv=y": false, "filter.x.clean=y": false, "credential.helper=x": false,
		"gpg.program=x": false, "log.showSignature=true": false, "include.path=x": false, "includeIf.x.path=y": false, "pager.log=x": false,
		"sequence.editor=x": false, "color.x.y=z": false, "color.": false, "color": false, "": false, "=": false, "core.worktree=/": false, "protocol.ext.allow=always": false,
	} {
		if got := harmlessConfig(text); got != want {
			t.Errorf("harmlessConfig(%q) = %t, want %t", text, got, want)
		}
	}
}

// TestMessages are those of the design, word by word.
func TestMessages(t *testing.T) {
	st := newStage(t, "w/in.txt", "other/secret.txt", "w/a")
	for _, tt := range []struct {
		line, message, help string
		mode                Mode
	}{
		{line: "sort -o out.txt in.txt", message: "sort writes out.txt (-o), and this call is read-only", help: "drop --readonly to let sort write inside R/w"},
		{line: "cat ../other/secret.txt", message: "cat reads ../other/secret.txt (R/other/secret.txt), outside the root R/w", help: "add --ro R/other/secret.txt"},
		{line: "tee ../other/x", message: "tee writes ../other/x (R/other/x), outside the root R/w", help: "drop --readonly and add --rw R/other/x"},
		{line: "tee ../other/x", mode: ReadWrite, message: "tee writes ../other/x (R/other/x), outside the root R/w", help: "add --rw R/other/x"},
		{line: "rm a", message: "rm removes a, and this call is read-only", help: "drop --readonly to let rm remove inside R/w"},
		{line: "mv a b", message: "mv moves a, and this call is read-only", help: ""}, // the other operand too
		{line: "tee .envrc", mode: ReadWrite, message: "tee writes .envrc, which is what other programs obey or execute; no grant opens that"},
		{line: "cat /proc/1/environ", message: "cat reads /proc/1/environ, which is no ordinary file; no grant opens that"},
		{line: "find . -exec rm -f {} ;", message: "find would run rm -f '{}' (-exec), a program of the caller's choice"},
		{line: "cat ../x\n\x1b[31m", message: `cat reads $'../x\n\x1b[31m' ($'R/x\n\x1b[31m'), outside the root R/w`, help: `add --ro $'R/x\n\x1b[31m'`},
	} {
		args := words(tt.line)
		if strings.Contains(tt.line, "\n") {
			args = []string{"cat", "../x\n\x1b[31m"}
		}
		req := st.request(args...)
		req.Mode = tt.mode
		_, refs := decide(t, req)
		if len(refs) == 0 {
			t.Errorf("%s: allowed", tt.line)
			continue
		}
		if got := strings.ReplaceAll(refs[0].Message, st.R+"/", "R/"); got != tt.message {
			t.Errorf("%s:\n got %s\nwant %s", tt.line, got, tt.message)
		}
		help := ""
		if refs[0].Remedy != nil {
			help = strings.ReplaceAll(refs[0].Remedy.Message, st.R+"/", "R/")
		}
		if help != tt.help && !(tt.help == "" && strings.HasPrefix(help, "drop --readonly to let mv")) {
			t.Errorf("%s: help %q, want %q", tt.line, help, tt.help)
		}
	}
}

// TestAllocations keeps the cost of a plain decision in sight: each operand is
// some system calls, and no more than these allocations.
func TestAllocations(t *testing.T) {
	st := newStage(t, "w/a")
	req := st.request("cat", "a")
	got := testing.AllocsPerRun(50, func() {
		d, err := Decide(req)
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
	})
	if got > 150 {
		t.Errorf("a decision about one operand allocates %v times, want 150 at most", got)
	}
}

func BenchmarkDecide(b *testing.B) {
	st := newStage(b, "w/a")
	req := st.request("cat", "a")
	req.Policy.Own = []string{"/etc/wrap", "/usr/share/wrap", filepath.Join(st.R, "home/.config/wrap"), filepath.Join(st.R, "home/.local/state/wrap")}
	for b.Loop() {
		d, err := Decide(req)
		if err != nil {
			b.Fatal(err)
		}
		d.Close()
	}
}

// TestSpecialFiles: what kind of file it is counts, wherever it lies.
func TestSpecialFiles(t *testing.T) {
	st := newStage(t, "w/a")
	sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(sock)
	if err := unix.Bind(sock, &unix.SockaddrUnix{Name: st.R + "/w/sock"}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(st.R+"/w/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "allowed", "fifo": "allowed", "sock": "path.raw_device"}
	for name, dev := range map[string]struct {
		mode         uint32
		major, minor uint32
		want         string
	}{
		"null": {unix.S_IFCHR, 1, 3, "allowed"}, "mem": {unix.S_IFCHR, 1, 1, "path.raw_device"}, "tty": {unix.S_IFCHR, 5, 0, "allowed"},
		"console": {unix.S_IFCHR, 5, 1, "path.raw_device"}, "disk": {unix.S_IFBLK, 8, 0, "path.raw_device"},
		"big": {unix.S_IFCHR, 1, 3 | 1<<8, "path.raw_device"},
	} {
		switch err := unix.Mknod(st.R+"/w/"+name, dev.mode|0o600, int(unix.Mkdev(dev.major, dev.minor))); err {
		case nil:
			want[name] = dev.want
		case unix.EPERM: // no device can be made here
		default:
			t.Fatal(err)
		}
	}
	for name, code := range want {
		d, err := Decide(st.call(name, argv.Value{Face: argv.Read}))
		d.Close()
		if got := refusalCodes(err); got != code {
			t.Errorf("%s: %s, want %s", name, got, code)
		}
	}
	j := &judge{}
	if got := j.role(&path.File{Path: "/srv/x", Literal: "/srv/x", Exists: true, Kernel: true}); got != path.RawDevice {
		t.Errorf("a file of another mount of /proc is %s", got)
	}
}

func TestDenialCovers(t *testing.T) {
	d := denial{paths: []string{"/r/w/x"}, dev: 1, ino: 2}
	for _, tt := range []struct {
		f    path.File
		want bool
	}{
		{path.File{Path: "/r/w/x", Literal: "/r/w/y"}, true},
		{path.File{Path: "/r/w/x/z", Literal: "/r/w/y"}, true},
		{path.File{Path: "/r/other", Literal: "/r/w/x"}, true},
		{path.File{Path: "/r/w/X", Literal: "/r/w/X"}, true},
		{path.File{Path: "/r/w/xy", Literal: "/r/w/xy"}, false},
		{path.File{Path: "/r/w", Literal: "/r/w"}, false},
		{path.File{Path: "/o", Literal: "/o", Exists: true, Dev: 1, Ino: 2}, true},
		{path.File{Path: "/o/gone", Literal: "/o/gone", Dev: 1, Ino: 2}, false}, // the directory above
		{path.File{Path: "/o", Literal: "/o", Exists: true, Dev: 3, Ino: 2}, false},
	} {
		if got := d.covers(&tt.f); got != tt.want {
			t.Errorf("covers(%+v) = %t, want %t", tt.f, got, tt.want)
		}
	}
}

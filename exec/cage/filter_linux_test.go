//go:build linux && (amd64 || arm64)

package cage

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/guard"
)

// What the filter may answer.
const (
	pass   = uint32(unix.SECCOMP_RET_ALLOW)
	killed = uint32(unix.SECCOMP_RET_KILL_PROCESS)
	eperm  = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	enosys = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)
)

// interpret runs a filter as the kernel does, and fails the test for anything
// that the kernel would not load: a jump or a load out of bounds, an unaligned
// load, an instruction beyond those that its verdict cache can follow.
func interpret(t *testing.T, code []unix.SockFilter, arch, nr uint32, args ...uint64) uint32 {
	t.Helper()
	var data [64]byte // struct seccomp_data
	binary.LittleEndian.PutUint32(data[0:], nr)
	binary.LittleEndian.PutUint32(data[4:], arch)
	for i, a := range args {
		binary.LittleEndian.PutUint64(data[16+8*i:], a)
	}
	var acc uint32
	for pc := 0; pc < len(code); pc++ {
		ins := code[pc]
		yes := false
		switch ins.Code {
		case loadWord:
			if ins.K%4 != 0 || ins.K > 60 {
				t.Fatalf("instruction %d loads at %d", pc, ins.K)
			}
			acc = binary.LittleEndian.Uint32(data[ins.K:])
			continue
		case andConst:
			acc &= ins.K
			continue
		case ret:
			return ins.K
		case jumpTo:
			pc += int(ins.K)
			continue
		case jumpEq:
			yes = acc == ins.K
		case jumpGe:
			yes = acc >= ins.K
		case jumpSet:
			yes = acc&ins.K != 0
		default:
			t.Fatalf("instruction %d has code %#x", pc, ins.Code)
		}
		if yes {
			pc += int(ins.Jt)
		} else {
			pc += int(ins.Jf)
		}
	}
	t.Fatalf("the filter ran off its end for call %d %#x", nr, args)
	return 0
}

// policies are all that a filter can be made for.
func policies() []policy {
	var all []policy
	for bits := range 16 {
		pol := policy{unix: bits&1 != 0, noAttr: bits&2 != 0, noTruncate: bits&4 != 0}
		if bits&8 != 0 {
			pol.net = guard.NetAll
		}
		all = append(all, pol)
	}
	return all
}

func hostFilter(pol policy) []unix.SockFilter {
	return assemble(pol, auditArch, commonCalls[:], archCalls[:])
}

// TestFilterNumbers runs every filter on every number: those of the tables
// answer by class, all others ENOSYS, and nothing at all from a foreign machine
// passes.
func TestFilterNumbers(t *testing.T) {
	t.Parallel()
	known := make(map[uint32]class)
	for _, table := range [][]call{commonCalls[:], archCalls[:]} {
		for _, c := range table {
			if was, twice := known[uint32(c.nr)]; twice {
				t.Errorf("call %d is in the tables twice, as %d and %d", c.nr, was, c.class)
			}
			known[uint32(c.nr)] = c.class
		}
	}
	if len(known) < 300 {
		t.Fatalf("the tables hold %d calls, want all of a machine", len(known))
	}
	for _, pol := range policies() {
		code := hostFilter(pol)
		if len(code) > unix.BPF_MAXINSNS {
			t.Errorf("%+v: %d instructions, want at most %d", pol, len(code), unix.BPF_MAXINSNS)
		}
		for nr := range uint32(1024) {
			got := interpret(t, code, auditArch, nr)
			want, byArgument := answer(known[nr], pol)
			if !byArgument && got != want {
				t.Errorf("%+v: call %d answers %#x, want %#x", pol, nr, got, want)
			}
			if got := interpret(t, code, auditArch, nr|1<<30); got != enosys {
				t.Errorf("%+v: x32 call %d answers %#x, want ENOSYS", pol, nr, got)
			}
			for _, arch := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, foreign, 0} {
				if got := interpret(t, code, arch, nr); got != killed {
					t.Errorf("%+v: call %d of machine %#x answers %#x, want kill", pol, nr, arch, got)
				}
			}
		}
		for _, nr := range []uint32{1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			if got := interpret(t, code, auditArch, nr); got != enosys {
				t.Errorf("%+v: call %#x answers %#x, want ENOSYS", pol, nr, got)
			}
		}
	}
}

// foreign is the other machine that has a filter.
const foreign = unix.AUDIT_ARCH_X86_64 ^ unix.AUDIT_ARCH_AARCH64 ^ auditArch

// answer is what a class means, said a second time and in another way.
func answer(c class, pol policy) (want uint32, byArgument bool) {
	switch c {
	case unknown, absent:
		return enosys, false
	case allow:
		return pass, false
	case never:
		return eperm, false
	case attr:
		if pol.noAttr {
			return eperm, false
		}
		return pass, false
	case reach:
		if pol.net == guard.NetNone && !pol.unix {
			return eperm, false
		}
		return pass, false
	case trunc:
		if pol.noTruncate {
			return eperm, false
		}
		return pass, false
	case opaque:
		if pol.noTruncate {
			return enosys, false
		}
		return pass, false
	}
	return 0, true
}

// TestFilterArguments looks at the calls that are judged by an argument. Each
// 32 bit argument is also given with garbage above, which the kernel ignores.
func TestFilterArguments(t *testing.T) {
	t.Parallel()
	none, all := policy{}, policy{net: guard.NetAll}
	sockets := policy{unix: true}
	readonly, old := policy{noAttr: true}, policy{noAttr: true, noTruncate: true}
	tests := []struct {
		name string
		pol  policy
		nr   uint32
		args []uint64
		want uint32
	}{
		{"clone of a thread", none, unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_THREAD}, pass},
		{"fork", none, unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, pass},
		{"vfork with a pidfd", none, unix.SYS_CLONE, []uint64{unix.CLONE_VFORK | unix.CLONE_VM | unix.CLONE_PIDFD | uint64(unix.SIGCHLD)}, pass},
		{"clone into a user namespace", none, unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, eperm},
		{"clone into a mount namespace", all, unix.SYS_CLONE, []uint64{unix.CLONE_NEWNS}, eperm},
		{"clone into a network namespace", none, unix.SYS_CLONE, []uint64{unix.CLONE_NEWNET}, eperm},
		{"clone into a pid namespace", none, unix.SYS_CLONE, []uint64{unix.CLONE_NEWPID}, eperm},
		{"clone into a uts namespace", none, unix.SYS_CLONE, []uint64{unix.CLONE_NEWUTS}, eperm},
		{"clone into an ipc namespace", none, unix.SYS_CLONE, []uint64{unix.CLONE_NEWIPC}, eperm},
		{"clone into a cgroup namespace", none, unix.SYS_CLONE, []uint64{unix.CLONE_NEWCGROUP}, eperm},
		{"unshare of the working directory", none, unix.SYS_UNSHARE, []uint64{unix.CLONE_FS | unix.CLONE_FILES}, pass},
		{"unshare of the user namespace", none, unix.SYS_UNSHARE, []uint64{unix.CLONE_NEWUSER}, eperm},
		{"unshare of the time namespace", none, unix.SYS_UNSHARE, []uint64{unix.CLONE_NEWTIME}, eperm},

		{"prlimit of itself", none, unix.SYS_PRLIMIT64, []uint64{0, unix.RLIMIT_NOFILE}, pass},
		{"prlimit of another", none, unix.SYS_PRLIMIT64, []uint64{1, unix.RLIMIT_NOFILE}, eperm},

		{"tcp without network", none, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM}, eperm},
		{"tcp with network", all, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM}, pass},
		{"udp over ip6 without network", none, unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_DGRAM}, eperm},
		{"udp over ip6 with network", all, unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_DGRAM}, pass},
		{"unix socket", all, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, eperm},
		{"unix socket where one is named", sockets, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, pass},
		{"tcp where only a unix socket is named", sockets, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM}, eperm},
		{"route netlink without network", none, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, eperm},
		{"route netlink with network", all, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, pass},
		{"audit netlink with network", all, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, eperm},
		{"uevent netlink with network", all, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT}, eperm},

		{"pair of streams", none, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, pass},
		{"pair of packet streams", none, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK}, pass},
		{"pair of datagram sockets", none, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM}, eperm},
		{"pair of raw sockets, which are datagram sockets", none, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_RAW | unix.SOCK_CLOEXEC}, eperm},
		{"pair of datagram sockets where one is named", sockets, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM}, pass},
		{"pair of tipc sockets", all, unix.SYS_SOCKETPAIR, []uint64{unix.AF_TIPC, unix.SOCK_STREAM}, eperm},

		{"open to read", old, unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDONLY | unix.O_CLOEXEC}, pass},
		{"open to read and truncate", old, unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDONLY | unix.O_TRUNC}, eperm},
		{"open for neither and truncate", old, unix.SYS_OPENAT, []uint64{0, 0, unix.O_ACCMODE | unix.O_TRUNC | unix.O_CREAT}, eperm},
		{"open to write and truncate", old, unix.SYS_OPENAT, []uint64{0, 0, unix.O_WRONLY | unix.O_TRUNC | unix.O_CREAT}, pass},
		{"open for both and truncate", old, unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDWR | unix.O_TRUNC}, pass},
		{"open to read and truncate where landlock holds it", readonly, unix.SYS_OPENAT, []uint64{0, 0, unix.O_TRUNC}, pass},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code := hostFilter(tt.pol)
			if got := interpret(t, code, auditArch, tt.nr, tt.args...); got != tt.want {
				t.Errorf("call %d %#x answers %#x, want %#x", tt.nr, tt.args, got, tt.want)
			}
			high := make([]uint64, len(tt.args))
			for i, a := range tt.args {
				high[i] = a | 0xdeadbeef<<32
			}
			if got := interpret(t, code, auditArch, tt.nr, high...); got != tt.want {
				t.Errorf("call %d %#x answers %#x, want %#x: the upper half counts for nothing", tt.nr, high, got, tt.want)
			}
		})
	}
}

// TestFilterFamilies tries every family that there is or may be.
func TestFilterFamilies(t *testing.T) {
	t.Parallel()
	for _, pol := range policies() {
		code := hostFilter(pol)
		for family := range uint32(256) {
			want := eperm
			switch {
			case family == unix.AF_UNIX && pol.unix,
				pol.net == guard.NetAll && (family == unix.AF_INET || family == unix.AF_INET6 || family == unix.AF_NETLINK):
				want = pass
			}
			if got := interpret(t, code, auditArch, unix.SYS_SOCKET, uint64(family), unix.SOCK_STREAM, 0); got != want {
				t.Errorf("%+v: socket of family %d answers %#x, want %#x", pol, family, got, want)
			}
		}
	}
}

// TestFilterIoctls compares the filters with the list of classified commands,
// and the list with what the unix package names.
func TestFilterIoctls(t *testing.T) {
	t.Parallel()
	filters := [...][]unix.SockFilter{
		hostFilter(policy{noAttr: true}),
		hostFilter(policy{noAttr: true, net: guard.NetAll}),
		hostFilter(policy{}),
		hostFilter(policy{net: guard.NetAll}),
	}
	f, err := os.Open("testdata/ioctls.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	listed := make(map[string]bool)
	allowed := make(map[uint64]bool)
	count := make(map[string]int)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		var kind, name string
		var cmd uint64
		if _, err := fmt.Sscanf(line, "%s %v %s", &kind, &cmd, &name); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want, ok := map[string][len(filters)]uint32{
			"allow":  {pass, pass, pass, pass},
			"net":    {eperm, pass, pass, pass},
			"change": {eperm, eperm, pass, pass},
			"never":  {eperm, eperm, eperm, eperm},
		}[kind]
		if !ok {
			t.Fatalf("%q: kind %q", line, kind)
		}
		for _, c := range []uint64{cmd, cmd | 1<<32, cmd | 1<<63} {
			for i, filter := range filters {
				if got := interpret(t, filter, auditArch, unix.SYS_IOCTL, 0, c); got != want[i] {
					t.Errorf("%s %#x answers %#x by filter %d, want %#x", name, c, got, i, want[i])
				}
			}
		}
		listed[name] = true
		count[kind]++
		if kind == "allow" || kind == "net" {
			allowed[cmd] = true
		}
	}
	if count["allow"] < 30 || count["net"] < 10 || count["change"] < 300 || count["never"] < 50 {
		t.Errorf("the list holds %v: it is not whole", count)
	}
	// Nothing hides between the listed ones.
	for _, r := range allowedIoctls {
		if r.last-r.first > 64 {
			t.Errorf("%#x-%#x is too wide to be looked at", r.first, r.last)
			continue
		}
		for cmd := r.first; cmd <= r.last; cmd++ {
			if !allowed[uint64(cmd)] && cmd != 0x8903 && cmd != 0x5452 {
				t.Errorf("%#x passes in a read-only call and is not listed as allowed", cmd)
			}
		}
	}
	ioctl := regexp.MustCompile(`^(TIOC[A-Z0-9]+|TC[GSFX][A-Z0-9]+|FICLONE.*|FIDEDUPE.*|FS_IOC_.*|SIOC.*|NS_GET_.*|PIDFD_GET_.*|RND.*|BLK[A-Z0-9]+|TUN[A-Z]+|PERF_EVENT_IOC_.*|SECCOMP_IOCTL_.*|LOOP_(SET|CLR|GET|CTL)_[A-Z0-9_]*)$`)
	noIoctl := regexp.MustCompile(`^(TCSAFLUSH|LOOP_.*_FLAGS)$`)
	for _, name := range unixConstants(t, "zerrors_linux.go", "zerrors_linux_amd64.go") {
		if ioctl.MatchString(name) && !noIoctl.MatchString(name) && !listed[name] {
			t.Errorf("unix.%s is not in testdata/ioctls.txt: classify it", name)
		}
	}
	for _, list := range [][]commands{refusedIoctls[:], allowedIoctls[:]} {
		for i, r := range list {
			if r.last < r.first || i > 0 && r.first <= list[i-1].last {
				t.Errorf("%#x-%#x is out of order", r.first, r.last)
			}
		}
	}
}

// TestCallsClassified fails for a system call that the unix package names on
// either machine and that the tables, read as source, do not.
func TestCallsClassified(t *testing.T) {
	t.Parallel()
	for _, arch := range []string{"amd64", "arm64"} {
		classified := make(map[string]bool)
		for _, file := range []string{"calls_linux.go", "calls_linux_" + arch + ".go"} {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "SYS_") {
					classified[sel.Sel.Name] = true
				}
				return true
			})
		}
		n := 0
		for _, name := range unixConstants(t, "zsysnum_linux_"+arch+".go") {
			if !strings.HasPrefix(name, "SYS_") {
				continue
			}
			n++
			if !classified[name] {
				t.Errorf("%s: unix.%s is in no table: classify it", arch, name)
			}
		}
		if n < 320 || n != len(classified) {
			t.Errorf("%s: the unix package names %d calls, the tables %d", arch, n, len(classified))
		}
	}
}

// unixConstants are the constants that files of golang.org/x/sys/unix declare.
func unixConstants(t *testing.T, files ...string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "unix")
	var names []string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST {
				continue
			}
			for _, s := range decl.Specs {
				for _, id := range s.(*ast.ValueSpec).Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

// TestProgramFar builds comparisons whose targets lie just within reach of one
// jump, just beyond it, and far away, and looks at where they lead.
func TestProgramFar(t *testing.T) {
	t.Parallel()
	const fill = 700
	distances := []int{0, 1, 2, 252, 253, 254, 255, 256, 257, 258, 600, fill}
	for _, yes := range distances {
		for _, no := range distances {
			// Returns only; the targets say 1 and 2.
			var p program
			for range fill {
				p.ret(0)
			}
			at := func(distance int, k uint32) label {
				l := label(len(p.rev) - 1 - distance)
				if l < 0 {
					l = 0
				}
				p.rev[l].K = k
				return l
			}
			yesAt, noAt := at(yes, 1), at(no, 2)
			want := map[uint32]uint32{10: 1, 9: 2}
			if yesAt == noAt {
				want[10] = 2
			}
			code := p.code(p.then(loadWord, offNumber, p.branch(jumpGe, 10, yesAt, noAt)))
			for nr, want := range want {
				if got := interpret(t, code, auditArch, nr); got != want {
					t.Errorf("targets %d and %d away, number %d: got %d, want %d", yes, no, nr, got, want)
				}
			}
			// The same with targets that are no returns, which get a jump.
			p = program{}
			end := [...]label{p.ret(1), p.ret(2)}
			for range fill {
				p.emit(unix.SockFilter{Code: andConst, K: 0})
			}
			yesAt, noAt = at(yes, 0), at(no, 0)
			p.rev[yesAt] = unix.SockFilter{Code: jumpTo, K: uint32(int(yesAt) - int(end[0]) - 1)}
			p.rev[noAt] = unix.SockFilter{Code: jumpTo, K: uint32(int(noAt) - int(end[1]) - 1)}
			if yesAt < 2 || noAt < 2 || yesAt == noAt {
				continue // over the returns themselves
			}
			code = p.code(p.then(loadWord, offNumber, p.branch(jumpGe, 10, yesAt, noAt)))
			for nr, want := range map[uint32]uint32{10: 1, 9: 2} {
				if got := interpret(t, code, auditArch, nr); got != want {
					t.Errorf("bodies %d and %d away, number %d: got %d, want %d", yes, no, nr, got, want)
				}
			}
		}
	}
}

func BenchmarkAssemble(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		hostFilter(policy{noAttr: true})
	}
	b.ReportMetric(float64(len(hostFilter(policy{noAttr: true}))), "instructions")
}

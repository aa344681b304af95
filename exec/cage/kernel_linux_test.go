//go:build linux && (amd64 || arm64)

package cage

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/guard"
)

const nobody = 65534

// stage is everything that the operations work on.
type stage struct {
	spec
	exe string
	tty *os.File // a pseudo-terminal's slave
}

// newStage plants a root with a directory for each operation, and the world
// around it, all owned by uid.
func newStage(t *testing.T, uid int, ops ...string) *stage {
	t.Helper()
	base := openDir(t)
	st := &stage{exe: self(t, base)}
	st.Dir, st.Tmp, st.Outside = base+"/root", base+"/tmp", base+"/outside"
	st.Ops, st.Kernel = ops, Probe()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{st.Dir, st.Tmp, st.Outside} {
		must(os.Mkdir(dir, 0o755))
	}
	must(os.WriteFile(st.Outside+"/f", []byte("outside\n"), 0o644))
	if slices.Contains(ops, "exec-ungranted") {
		// A copy: a link would be the granted file.
		bin, err := os.ReadFile(st.exe)
		must(err)
		must(os.WriteFile(st.Outside+"/self", bin, 0o755))
	}
	for _, op := range ops {
		dir := filepath.Join(st.Dir, op)
		must(os.MkdirAll(dir+"/d", 0o755))
		must(os.Mkdir(dir+"/e", 0o755))
		must(os.WriteFile(dir+"/f", []byte("content\n"), 0o644))
		must(os.WriteFile(dir+"/d/f", []byte("content\n"), 0o644))
		must(os.Symlink("f", dir+"/l"))
	}
	must(filepath.WalkDir(base, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, uid, uid)
	}))

	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	must(err)
	t.Cleanup(func() { tcp.Close() })
	st.TCP = tcp.Addr().(*net.TCPAddr).Port
	st.Socket = base + "/s"
	sock, err := net.Listen("unix", st.Socket)
	must(err)
	t.Cleanup(func() { sock.Close() })
	datagram, err := net.ListenPacket("unixgram", st.Socket+".datagram")
	must(err)
	t.Cleanup(func() { datagram.Close() })
	for _, name := range []string{st.Socket, st.Socket + ".datagram"} {
		must(os.Chmod(name, 0o777))
	}
	st.Abstract = fmt.Sprintf("wrap-cage-%d-%d", os.Getpid(), st.TCP)
	abstract, err := net.Listen("unix", "@"+st.Abstract)
	must(err)
	t.Cleanup(func() { abstract.Close() })

	st.Victim = victim(t, uid)
	st.tty = terminal(t)
	return st
}

// victim is a process outside, of the user, that waits until the test ends.
func victim(t *testing.T, uid int) int {
	t.Helper()
	cmd := exec.Command("cat")
	cmd.Env = []string{"SECRET=1"}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	return cmd.Process.Pid
}

// terminal is the slave of a new pseudo-terminal.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return slave
}

// readonlyCage is the cage of `wrap --readonly` by root scope: the whole root
// to read, the temporary directory to write, no network.
func (st *stage) readonlyCage() *guard.Cage {
	const tmp = readTree | writeRights
	st.Handles = []string{st.Dir}
	return &guard.Cage{
		Scope: guard.ScopeRoot,
		Rules: append(Profiles([]string{"base", "locale", "nss"}, ""),
			guard.Rule{Path: st.Dir, Handle: 0, Rights: readTree},
			guard.Rule{Path: st.Tmp, Handle: -1, Rights: tmp},
			// With rights that a file cannot have, which are dropped.
			guard.Rule{Path: st.exe, Handle: -1, Rights: runTree},
			// The loader, which a test binary with cgo has.
			guard.Rule{Path: "/lib64/ld-linux-x86-64.so.2", Handle: -1, Rights: guard.Execute | guard.ReadFile},
			guard.Rule{Path: "/lib/ld-linux-aarch64.so.1", Handle: -1, Rights: guard.Execute | guard.ReadFile},
			guard.Rule{Path: "/no/such/place", Handle: -1, Rights: readTree},
		),
		NoAttr: true,
		Tmp:    st.Tmp,
	}
}

func allOps() []string {
	var names []string
	for i := range operations {
		names = append(names, operations[i].name)
	}
	return names
}

// snapshot is everything about a tree that a read-only call must leave: names,
// bytes, modes, owners, times of modification and change, links, attributes.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	snap := make(map[string]string)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(name, &st); err != nil {
			return err
		}
		var content []byte
		if d.Type().IsRegular() {
			if content, err = os.ReadFile(name); err != nil {
				return err
			}
		}
		attrs := make([]byte, 4096)
		n, err := unix.Llistxattr(name, attrs)
		if err != nil && err != unix.ENOTSUP {
			return err
		}
		snap[name] = fmt.Sprint(st.Ino, st.Mode, st.Uid, st.Gid, st.Nlink, st.Size, st.Mtim, st.Ctim, fmt.Sprintf("%x", sha256.Sum256(content)), string(attrs[:max(n, 0)]))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func compare(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name, was := range before {
		if is, ok := after[name]; !ok {
			t.Errorf("%s is gone", name)
		} else if is != was {
			t.Errorf("%s was %s\nand is %s", name, was, is)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s is new", name)
		}
	}
}

// TestReadOnly tries everything that `wrap --readonly` must prevent, and its
// allowed twins, in the cage and, to show that the operations work, without.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	need(t, guard.Kernel{Landlock: 6, Seccomp: true})
	for _, uid := range users(t) {
		t.Run(fmt.Sprint("uid ", uid), func(t *testing.T) {
			t.Parallel()
			st := newStage(t, uid, allOps()...)
			st.Cage = st.readonlyCage()
			before, beforeOutside := snapshot(t, st.Dir), snapshot(t, st.Outside)
			caged := try(t, st.exe, uid, &st.spec, st.tty)
			compare(t, before, snapshot(t, st.Dir))
			compare(t, beforeOutside, snapshot(t, st.Outside))

			st.Cage = nil
			free := try(t, st.exe, uid, &st.spec, st.tty)
			for _, op := range operations {
				if got := caged[op.name]; got != op.want {
					t.Errorf("%s in the cage: %v, want %v", op.name, got, op.want)
				}
				want := op.free
				if uid != 0 && op.user != 0 {
					want = op.user
				}
				if got := free[op.name]; got != want && !lacking(op.name, got) {
					t.Errorf("%s without a cage: %v, want %v", op.name, got, want)
				}
			}
		})
	}
}

// users are root, where we are root, and somebody who is not.
func users(t *testing.T) []int {
	t.Helper()
	if uid := os.Getuid(); uid != 0 {
		return []int{uid}
	}
	return []int{0, nobody}
}

// lacking is whether an operation without a cage failed because this kernel or
// file system has no such thing, or forbids it to everybody.
func lacking(op string, got syscall.Errno) bool {
	switch got {
	case unix.ENOSYS, unix.ENOTSUP, unix.ENOTTY:
		return true
	case unix.EPERM, unix.EACCES, unix.EIO:
		return slices.Contains([]string{"io_uring", "userfaultfd", "tiocsti", "tiocsti-high", "perf_event_open", "bpf", "mount", "ptrace", "process_vm_readv", "pidfd_getfd"}, op)
	}
	return false
}

// TestOldKernels masks what this kernel can do and looks at what holds then.
func TestOldKernels(t *testing.T) {
	t.Parallel()
	need(t, guard.Kernel{Landlock: 6, Seccomp: true})
	ops := []string{"read", "write", "create", "truncate", "open-truncate", "open3-truncate", "openat2-truncate", "rename-away", "tmp", "chmod", "signal", "tcp", "abstract", "device-ioctl"}
	const denied = unix.EACCES
	tests := []struct {
		kernel guard.Kernel
		want   result // what differs from the newest
	}{
		{guard.Kernel{Landlock: 7, Seccomp: true}, nil},
		{guard.Kernel{Landlock: 6, Seccomp: true}, nil},
		{guard.Kernel{Landlock: 5, Seccomp: true}, result{"signal": 0}},
		{guard.Kernel{Landlock: 4, Seccomp: true}, result{"signal": 0, "device-ioctl": unix.ENOTTY}},
		{guard.Kernel{Landlock: 3, Seccomp: true}, result{"signal": 0, "device-ioctl": unix.ENOTTY}},
		{guard.Kernel{Landlock: 2, Seccomp: true}, result{
			"signal": 0, "truncate": unix.EPERM, "open-truncate": unix.EPERM, "open3-truncate": unix.EPERM, "openat2-truncate": unix.ENOSYS,
			"tmp": unix.EPERM, "device-ioctl": unix.ENOTTY,
		}},
		{guard.Kernel{Landlock: 1, Seccomp: true}, result{
			"signal": 0, "truncate": unix.EPERM, "open-truncate": unix.EPERM, "open3-truncate": unix.EPERM, "openat2-truncate": unix.ENOSYS,
			"tmp": unix.EPERM, "device-ioctl": unix.ENOTTY,
		}},
		{guard.Kernel{Landlock: 7}, result{"chmod": 0, "tcp": unix.EACCES}},
		{guard.Kernel{Landlock: 3}, result{"chmod": 0, "tcp": 0, "signal": 0, "abstract": 0, "device-ioctl": unix.ENOTTY}},
		{guard.Kernel{Seccomp: true}, result{
			"signal": 0, "write": 0, "create": 0, "truncate": unix.EPERM, "open-truncate": unix.EPERM, "open3-truncate": unix.EPERM,
			"openat2-truncate": unix.ENOSYS, "rename-away": 0, "tmp": unix.EPERM, "device-ioctl": unix.ENOTTY,
		}},
		{guard.Kernel{}, result{
			"signal": 0, "write": 0, "create": 0, "truncate": 0, "open-truncate": 0, "open3-truncate": 0, "openat2-truncate": 0,
			"rename-away": 0, "chmod": 0, "tcp": 0, "abstract": 0, "device-ioctl": unix.ENOTTY,
		}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%+v", tt.kernel), func(t *testing.T) {
			want := result{
				"read": 0, "write": denied, "create": denied, "truncate": denied, "open-truncate": denied, "open3-truncate": denied,
				"openat2-truncate": denied, "rename-away": denied, "tmp": 0, "chmod": unix.EPERM, "signal": unix.EPERM, "tcp": unix.EPERM, "abstract": unix.EPERM, "device-ioctl": denied,
			}
			maps.Copy(want, tt.want)
			st := newStage(t, os.Getuid(), ops...)
			st.Cage, st.Kernel = st.readonlyCage(), tt.kernel
			got := try(t, st.exe, os.Getuid(), &st.spec, st.tty)
			for _, op := range ops {
				if got[op] != want[op] {
					t.Errorf("%s: %v, want %v", op, got[op], want[op])
				}
			}
		})
	}
}

// TestCapabilities looks at the sets of a child, by its own status file.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root: others have none to keep")
	}
	need(t, guard.Kernel{Landlock: 1, Seccomp: true})
	tests := []struct {
		name string
		keep []int
		want string
		// With nothing kept the bounding set stays, and execve gives root none.
		bounding string
	}{
		{"none", nil, "0000000000000000", capLine(t, "CapBnd")},
		{"some", []int{unix.CAP_CHOWN, unix.CAP_FOWNER}, "0000000000000009", "0000000000000009"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &guard.Cage{Caps: tt.keep, Rules: append(Profiles([]string{"base", "programs"}, ""),
				guard.Rule{Path: "/proc", Handle: -1, Rights: readTree})}
			out := command(t, c, "/", "grep", "-E", "^(Cap|NoNewPrivs|Seccomp:)", "/proc/self/status")
			got := strings.Join(strings.Fields(out), " ")
			want := fmt.Sprintf("CapInh: 0000000000000000 CapPrm: %[1]s CapEff: %[1]s CapBnd: %[2]s CapAmb: 0000000000000000 NoNewPrivs: 1 Seccomp: 2", tt.want, tt.bounding)
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// capLine is a set of this process, as its status file has it.
func capLine(t *testing.T, key string) string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), key+":\t")
	if !ok {
		t.Fatalf("no %s in %q", key, data)
	}
	set, _, _ := strings.Cut(rest, "\n")
	return set
}

// TestSecurebits drops all capabilities of a thread without no_new_privs: even
// then execve gives root none back.
func TestSecurebits(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root: others regain none")
	}
	for _, keep := range [][]int{nil, {unix.CAP_CHOWN}} {
		err := onThread(func() error {
			if err := dropCaps(keep); err != nil {
				return err
			}
			out, err := exec.Command("grep", "CapEff", "/proc/self/status").Output()
			if err != nil {
				return err
			}
			want := "0000000000000000"
			if keep != nil {
				want = "0000000000000001"
			}
			if got := strings.Fields(string(out)); len(got) != 2 || got[1] != want {
				return fmt.Errorf("a child of root has %q, want %s", got, want)
			}
			return nil
		})
		if err != nil {
			t.Errorf("keeping %v: %v", keep, err)
		}
	}
}

// TestProcGranted reads another process's environment where /proc is granted:
// without capabilities, Landlock's rule for ptrace holds it back, root or not.
func TestProcGranted(t *testing.T) {
	t.Parallel()
	need(t, guard.Kernel{Landlock: 1, Seccomp: true})
	c := &guard.Cage{Rules: append(Profiles([]string{"base", "programs"}, ""), guard.Rule{Path: "/proc", Handle: -1, Rights: readTree})}
	pid := victim(t, os.Getuid())
	out, err := commandErr(t, c, "/", "cat", fmt.Sprintf("/proc/%d/environ", pid))
	if err == nil || strings.Contains(out, "SECRET") || !strings.Contains(out, "Permission denied") {
		t.Errorf("environ of another process: %q, %v, want permission denied", out, err)
	}
	if out := command(t, c, "/", "cat", fmt.Sprintf("/proc/%d/comm", pid)); out != "cat\n" {
		t.Errorf("comm of another process: %q, want %q", out, "cat\n")
	}
}

// command runs a program of the system in a cage, from a thread of this very
// process, and gives its stdout and stderr.
func command(t *testing.T, c *guard.Cage, dir string, argv ...string) string {
	t.Helper()
	out, err := commandErr(t, c, dir, argv...)
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return out
}

func commandErr(t *testing.T, c *guard.Cage, dir string, argv ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	err = onThread(func() error {
		if err := Confine(c, nil, fd); err != nil {
			return err
		}
		pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
			Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, Files: []uintptr{null.Fd(), f.Fd(), f.Fd()},
		})
		if err != nil {
			return fmt.Errorf("fork and exec: %w", err)
		}
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
			return err
		}
		if ws != 0 {
			return fmt.Errorf("ended with %#x", ws)
		}
		return nil
	})
	said, readErr := os.ReadFile(out)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(said), err
}

// TestParentStaysFree confines threads of this process and then writes, opens
// sockets and reads its own threads' status.
func TestParentStaysFree(t *testing.T) {
	need(t, guard.Kernel{Landlock: 1, Seccomp: true})
	before, start := status(), restrictedThreads()
	dir := t.TempDir()
	c := &guard.Cage{Rules: Profiles([]string{"base", "programs"}, ""), NoAttr: true}
	for range 20 {
		if out := command(t, c, dir, "pwd"); out != dir+"\n" {
			t.Errorf("working directory of the child: %q, want %q", out, dir+"\n")
		}
	}
	name := filepath.Join(dir, "f")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Errorf("write outside: %v", err)
	}
	if err := os.Chmod(name, 0o600); err != nil {
		t.Errorf("chmod outside: %v", err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Errorf("socket outside: %v", err)
	} else {
		l.Close()
	}
	if wd, err := os.Getwd(); err != nil || wd == dir {
		t.Errorf("working directory: %q, %v, want the package's", wd, err)
	}
	if got := status(); got != before {
		t.Errorf("status is %q, was %q", got, before)
	}
	for restrictedThreads() > start {
		if t.Context().Err() != nil {
			t.Fatal("confined threads are left")
		}
	}
}

// TestConfineErrors are the ways in which Confine refuses.
func TestConfineErrors(t *testing.T) {
	need(t, guard.Kernel{Landlock: 1, Seccomp: true})
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	tests := []struct {
		name  string
		cage  guard.Cage
		dir   int
		stage Stage
		errno syscall.Errno
	}{
		{"directory that is not open", guard.Cage{}, -1, StageDirectory, unix.EBADF},
		{"handle that is not there", guard.Cage{Rules: []guard.Rule{{Path: "x", Handle: 0, Rights: readFile}}}, root, StageRules, unix.EBADF},
		{"path too long", guard.Cage{Rules: []guard.Rule{{Path: "/" + strings.Repeat("x", 5000), Handle: -1, Rights: readFile}}}, root, StageRules, unix.ENAMETOOLONG},
		{"capability that is none", guard.Cage{Caps: []int{64}}, root, StageCaps, unix.EINVAL},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := onThread(func() error { return Confine(&tt.cage, nil, tt.dir) })
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Stage != tt.stage || !errors.Is(err, tt.errno) {
				t.Errorf("got %v, want stage %s and %v", err, tt.stage, tt.errno)
			}
		})
	}
}

// TestStartupThread calls Confine on the thread that never ends.
func TestStartupThread(t *testing.T) {
	t.Parallel()
	need(t, guard.Kernel{})
	got := run(t, self(t, openDir(t)), os.Getuid(), &spec{}, nil, "startup")
	want := (&Error{StageThread, errStartupThread}).Error() + "\n0\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func BenchmarkConfine(b *testing.B) {
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(root)
	rules := Profiles([]string{"base", "locale", "tz", "nss"}, "")
	for _, bench := range []struct {
		name string
		cage *guard.Cage
	}{
		{"none", nil},
		{"readonly", &guard.Cage{Rules: rules, NoAttr: true}},
		{"private", &guard.Cage{Rules: append(rules, guard.Rule{Path: os.TempDir(), Handle: -1, Rights: readTree | writeRights}), Private: true}},
	} {
		b.Run(fmt.Sprintf("%s-%d-rules", bench.name, len(rules)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				err := onThread(func() error {
					if bench.cage == nil {
						return nil
					}
					return Confine(bench.cage, nil, root)
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

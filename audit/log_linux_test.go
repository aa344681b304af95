package audit

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	helpers["fsize"] = helpFsize
	helpers["tmpfs"] = helpTmpfs
}

// TestUnwritableDir is row G04 again, as a user that modes mean something to.
func TestUnwritableDir(t *testing.T) {
	if os.Geteuid() != 0 {
		kernelSkip(t, "becoming another user needs root")
	}
	base := t.TempDir()
	for _, dir := range []string{base, filepath.Dir(base)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		perm os.FileMode
		want error
	}{
		{"unwritable", 0o755, unix.EACCES},
		{"control", 0o777, nil},
	} {
		dir := filepath.Join(base, tt.name)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, tt.perm)); err != nil {
			t.Fatal(err)
		}
		got := make(chan error)
		go func() {
			// The raw call changes this thread alone, which ends with the goroutine.
			runtime.LockOSThread()
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 12345, 12345, 12345); errno != 0 {
				got <- errno
				return
			}
			l, err := Open(filepath.Join(dir, "wrap"))
			if err == nil {
				err = errors.Join(l.Append(&Record{}), l.Close())
			}
			got <- err
		}()
		if err := <-got; !errors.Is(err, tt.want) {
			t.Errorf("%s: Open and Append = %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestShortWrite is row G02: the limit on file sizes cuts a write in the middle.
func TestShortWrite(t *testing.T) { mustRun(t, helper(t, "fsize", t.TempDir())) }

func helpFsize(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	l, err := Open(args[0])
	if err != nil {
		return err
	}
	if err := l.Append(&Record{}); err != nil {
		return err
	}
	st, _ := os.Stat(l.Path())
	limit := uint64(st.Size()) + 100
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: unix.RLIM_INFINITY}); err != nil {
		return err
	}
	if err := l.Append(&Record{}); !errors.Is(err, unix.EFBIG) {
		return fmt.Errorf("Append beyond the limit = %v, want EFBIG", err)
	}
	if now, _ := os.Stat(l.Path()); now.Size() != st.Size() {
		return fmt.Errorf("the log has %d bytes, want the %d of before", now.Size(), st.Size())
	}
	return nil
}

// TestDiskFull is row G04: a file system with no room.
func TestDiskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		kernelSkip(t, "mounting a tmpfs needs root")
	}
	cmd := helper(t, "tmpfs", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	mustRun(t, cmd)
}

func helpTmpfs(args []string) error {
	dir := args[0]
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount --make-rprivate: %w", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		return fmt.Errorf("mount tmpfs: %w", err)
	}
	l, err := Open(filepath.Join(dir, "wrap"))
	if err != nil {
		return err
	}
	n := 0
	for ; n < 1000; n++ {
		if err = l.Append(&Record{Error: strings.Repeat("x", 1500)}); err != nil {
			break
		}
	}
	if !errors.Is(err, unix.ENOSPC) || n == 0 {
		return fmt.Errorf("after %d records Append = %v, want ENOSPC", n, err)
	}
	if sum, err := Verify(l.Path()); err != nil || !sum.OK() || sum.Records != n || len(sum.Torn) != 0 {
		return fmt.Errorf("Verify of the full log = %+v, %v, want %d records", sum, err, n)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=256k"); err != nil {
		return err
	}
	r := &Record{}
	if err := l.Append(r); err != nil || r.Seq != uint64(n+1) {
		return fmt.Errorf("Append with room again = %v, seq %d, want %d", err, r.Seq, n+1)
	}
	if sum, err := Verify(l.Path()); err != nil || !sum.OK() || sum.Records != n+1 {
		return fmt.Errorf("Verify = %+v, %v", sum, err)
	}
	return nil
}

func kernelSkip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

package exec

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/guard"
)

// exchange swaps two names as fast as it can until the test ends.
func exchange(t *testing.T, a, b string) {
	t.Helper()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
					t.Errorf("renameat2: %v", err)
					return
				}
			}
		}
	})
	t.Cleanup(func() { close(stop); wg.Wait() })
}

// race makes approvals of `cat legit` while legit is exchanged with a link to a
// secret outside the root, and counts the secrets that came out.
func race(t *testing.T, mode guard.CageMode, want int64) (approved, leaks int64) {
	t.Helper()
	base := t.TempDir()
	root := filepath.Join(base, "p")
	write(t, filepath.Join(root, "legit"), "fine\n")
	write(t, filepath.Join(base, "secret"), "SECRET\n")
	if err := os.Symlink(filepath.Join(base, "secret"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	exchange(t, filepath.Join(root, "legit"), filepath.Join(root, "link"))
	s := testSupervisor(t)
	var ok, leaked, tries atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ok.Load() < want && tries.Add(1) < 20*want {
				rep, err := s.Run(context.Background(), &Call{
					Argv: []string{"cat", "legit"}, Root: root, Cage: mode, Capture: true, NoBreaker: true,
				})
				if errors.Is(err, guard.ErrRefused) {
					continue
				}
				if err != nil {
					t.Errorf("run: %v", err)
					return
				}
				ok.Add(1)
				if out := *rep.Output.Stdout.Text; strings.Contains(out, "SECRET") {
					leaked.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return ok.Load(), leaked.Load()
}

// TestRaceOperand: what was judged is what runs. The same attacker must win
// where no cage holds the child, or this test proves nothing.
func TestRaceOperand(t *testing.T) {
	needCage(t)
	runs := int64(10_000)
	if testing.Short() {
		runs = 500
	}
	approved, leaks := race(t, guard.CageDefault, runs)
	t.Logf("caged: %d approved, %d leaks", approved, leaks)
	if leaks != 0 || approved < runs {
		t.Errorf("caged: %d leaks in %d approvals, want 0 in %d", leaks, approved, runs)
	}
	approved, leaks = race(t, guard.CageOff, 1_000)
	t.Logf("without a cage: %d approved, %d leaks", approved, leaks)
	if leaks*100 < approved || approved == 0 {
		t.Errorf("without a cage: %d leaks in %d approvals, want 1%% at least: the attacker is too weak", leaks, approved)
	}
}

// TestRootSwap changes what the root's name means between the judgement and
// the start. The child works in the directory that was judged.
func TestRootSwap(t *testing.T) {
	needCage(t)
	for _, tt := range []struct {
		name string
		swap func(root, evil string) error
	}{
		{"renamed", func(root, _ string) error { return os.Rename(root, root+".old") }},
		{"replaced", func(root, evil string) error {
			return errors.Join(os.Rename(root, root+".old"), os.Rename(evil, root))
		}},
		{"linked", func(root, evil string) error {
			return errors.Join(os.Rename(root, root+".old"), os.Symlink(evil, root))
		}},
	} {
		for _, argv := range [][]string{{"cat", "f"}, {"sh", "-c", "cat f"}, {"cat", "sub/../f"}} {
			t.Run(tt.name+"/"+strings.Join(argv, " "), func(t *testing.T) {
				base := t.TempDir()
				root, evil := filepath.Join(base, "p"), filepath.Join(base, "evil")
				write(t, filepath.Join(root, "f"), "judged\n")
				write(t, filepath.Join(root, "sub/x"), "")
				write(t, filepath.Join(evil, "f"), "evil\n")
				s := testSupervisor(t)
				s.beforeStart = func() {
					if err := tt.swap(root, evil); err != nil {
						t.Error(err)
					}
				}
				rep, err := s.Run(context.Background(), &Call{Argv: argv, Root: root, Capture: true})
				if err != nil {
					t.Fatal(err)
				}
				if got := *rep.Output.Stdout.Text; got != "judged\n" {
					t.Errorf("the child read %q, want %q (stderr %q)", got, "judged\n", *rep.Output.Stderr.Text)
				}
			})
		}
	}
}

package exec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wrapexec/wrap/exec/cage"
)

// testSupervisor has a state directory of its own.
func testSupervisor(t *testing.T) *Supervisor {
	t.Helper()
	return New(Options{StateDir: filepath.Join(t.TempDir(), "state")})
}

// write makes a file, and the directories above it.
func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// needCage skips where the kernel cannot hold a cage, and fails there in CI.
func needCage(t *testing.T) {
	t.Helper()
	if k := cage.Probe(); k.Landlock < 3 || !k.Seccomp {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the cage cannot be tested here: %+v, want Landlock 3 and seccomp", k)
		}
		t.Skipf("needs Landlock 3 and seccomp, found %+v", k)
	}
}

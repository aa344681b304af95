package exec

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/wrapexec/wrap/breaker"
	"github.com/wrapexec/wrap/guard"
)

// foreignELF is a program for another machine: execve(2) answers ENOEXEC.
func foreignELF() []byte {
	b := make([]byte, 64+56)
	copy(b, "\x7fELF\x02\x01\x01")
	machine := uint16(183) // EM_AARCH64
	if runtime.GOARCH == "arm64" {
		machine = 62 // EM_X86_64
	}
	le := binary.LittleEndian
	le.PutUint16(b[16:], 2) // ET_EXEC
	le.PutUint16(b[18:], machine)
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], 64) // program headers
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 1)
	le.PutUint32(b[64:], 1) // PT_LOAD
	return b
}

// TestCircuit: five failures in a row open the circuit of a tool, whatever is
// refused between them; then calls end at once with 75, and are recorded.
func TestCircuit(t *testing.T) {
	needCage(t)
	root := t.TempDir()
	tool := filepath.Join(root, "tool")
	if err := os.WriteFile(tool, foreignELF(), 0o755); err != nil {
		t.Fatal(err)
	}
	s := testSupervisor(t)
	run := func(args ...string) (*Report, error) {
		return s.Run(context.Background(), &Call{Argv: append([]string{tool}, args...), Root: root, Capture: true})
	}
	for i := range 5 {
		for range 20 {
			if _, err := run("/etc/shadow"); !errors.Is(err, guard.ErrRefused) {
				t.Fatalf("want a refusal, got %v", err)
			}
		}
		rep, err := run()
		if rep.Exit != 126 || rep.Outcome == nil || rep.Outcome.Counted != "failure" {
			t.Fatalf("failure %d: exit %d, outcome %+v, %v; want 126, counted as a failure", i, rep.Exit, rep.Outcome, err)
		}
	}
	rep, err := run()
	if !errors.Is(err, breaker.ErrOpen) || rep.Exit != 75 || rep.Verdict != CircuitOpen || rep.Outcome != nil {
		t.Errorf("after five failures: %v, exit %d, verdict %s; want an open circuit, 75", err, rep.Exit, rep.Verdict)
	}
	if rep, err := run("/etc/shadow"); rep.Exit != 126 || !errors.Is(err, guard.ErrRefused) {
		t.Errorf("the guard is asked first: exit %d, %v, want a refusal", rep.Exit, err)
	}
	if rep, _ := s.Run(context.Background(), &Call{Argv: []string{tool}, Root: root, NoBreaker: true}); rep.Exit != 126 {
		t.Errorf("--no-breaker: exit %d, want 126", rep.Exit)
	}
}

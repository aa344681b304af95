package exec

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wrapexec/wrap/audit"
	"github.com/wrapexec/wrap/guard"
)

// TestBadInput: one clear line, the right exit code, nothing of the tool runs,
// the breaker hears nothing, and the log has one record of it.
func TestBadInput(t *testing.T) {
	needCage(t)
	long := strings.Repeat("x", 200<<10)
	for _, tt := range []struct {
		name string
		call Call
		exit int
		want string // part of the message
	}{
		{"no tool", Call{}, 125, "no tool named"},
		{"empty tool", Call{Argv: []string{""}}, 125, "no tool named"},
		{"empty path", Call{Argv: []string{"cat", ""}}, 126, "cat"},
		{"NUL", Call{Argv: []string{"cat", "a\x00b"}}, 125, `'a\x00b'`},
		{"argument of 200 KiB", Call{Argv: []string{"cat", long}}, 125, "argument 1 is 204800 bytes long"},
		{"parameter of 200 KiB", Call{Argv: []string{"cat"}, Params: []byte(`{"file":["` + long + `"]}`)}, 125, "file"},
		{"unknown flag without a cage", Call{Argv: []string{"cat", "--frob"}, Cage: guard.CageOff}, 126, "--frob"},
		{"missing root", Call{Argv: []string{"cat", "f"}, Root: "nothing"}, 125, "nothing"},
		{"root is a file", Call{Argv: []string{"cat", "f"}, Root: "f"}, 125, "f"},
		{"missing workdir", Call{Argv: []string{"cat", "f"}, Workdir: "nothing"}, 125, "nothing"},
		{"missing tool", Call{Argv: []string{"no-such-tool"}}, 127, "no-such-tool"},
		{"missing file as tool", Call{Argv: []string{"./no-such-tool"}}, 127, "no-such-tool"},
		{"directory as tool", Call{Argv: []string{"./dir"}}, 126, "dir"},
		{"not executable", Call{Argv: []string{"./f"}}, 126, "./f"},
		{"script without #!", Call{Argv: []string{"./script"}}, 126, "script"},
		{"script of a missing interpreter", Call{Argv: []string{"./lost"}}, 126, "lost"},
		{"malformed JSON", Call{Argv: []string{"cat"}, Params: []byte(`{"file":`)}, 125, "JSON"},
		{"unknown parameter", Call{Argv: []string{"cat"}, Params: []byte(`{"fiel":["f"]}`)}, 125, "/fiel"},
		{"bad --env", Call{Argv: []string{"cat", "f"}, Env: []string{"=x"}}, 125, "--env"},
		{"steering --env", Call{Argv: []string{"cat", "f"}, Env: []string{"LD_PRELOAD=x"}}, 126, "LD_PRELOAD"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			t.Chdir(root)
			write(t, "f", "x\n")
			write(t, "dir/x", "")
			write(t, "script", "touch ran\n")
			write(t, "lost", "#!/no/such/interpreter\n")
			for _, name := range []string{"script", "lost"} {
				if err := os.Chmod(name, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			s := testSupervisor(t)
			call := tt.call
			call.Mode, call.Capture = guard.ReadWrite, true
			rep, err := s.Run(context.Background(), &call)
			if err == nil {
				t.Fatalf("it ran: %s", rep.JSON())
			}
			if rep.Exit != tt.exit || rep.Outcome != nil {
				t.Errorf("exit %d and outcome %v, want %d and none (%v)", rep.Exit, rep.Outcome, tt.exit, err)
			}
			if msg := err.Error(); !strings.Contains(msg, tt.want) || strings.ContainsAny(msg, "\n\x00") || len(msg) > 500 {
				t.Errorf("message %q, want one short line with %q", msg, tt.want)
			}
			if _, err := os.Stat("ran"); err == nil {
				t.Error("something ran")
			}
			if _, err := os.Stat(filepath.Join(s.stateDir, "breaker")); err == nil {
				t.Error("the breaker was told")
			}
			sum, err := audit.Verify(filepath.Join(s.stateDir, audit.FileName))
			if err != nil || sum.Records != 1 {
				t.Errorf("the log has %d records (%v), want 1", sum.Records, err)
			}
		})
	}
}

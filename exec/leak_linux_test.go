package exec

import (
	"context"
	"path/filepath"
	"testing"
)

// TestCallLeaks: a call of any kind leaves no descriptor open, no temporary
// directory and no process behind.
func TestCallLeaks(t *testing.T) {
	needCage(t)
	root := filepath.Join(t.TempDir(), "p")
	write(t, filepath.Join(root, "f"), "x\n")
	s := testSupervisor(t)
	calls := [][]string{{"cat", "f"}, {"cat", "../f"}, {"no-such-tool"}, {"sh", "-c", "sleep 100 & mktemp"}, {"cp", "f", "g"}, {"cat", ""}}
	all := func() {
		for _, argv := range calls {
			s.Run(context.Background(), &Call{Argv: argv, Root: root, Mode: 1, Capture: true})
		}
	}
	all() // what is opened once stays open
	before, dirs := len(descriptors(t)), temporaries(t)
	for range 5 {
		all()
	}
	if got := len(descriptors(t)); got > before {
		t.Errorf("%d descriptors after five rounds, %d after one", got, before)
	}
	if got := temporaries(t); got > dirs {
		t.Errorf("%d temporary directories after five rounds, %d after one", got, dirs)
	}
}

func temporaries(t *testing.T) int {
	t.Helper()
	list, err := filepath.Glob("/tmp/wrap-*")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

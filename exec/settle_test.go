package exec

import (
	"testing"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/breaker"
	"github.com/wrapexec/wrap/overlays"
)

// TestCount is the table of what counts for a tool's health (DESIGN.md,
// 'breaker').
func TestCount(t *testing.T) {
	known := &overlays.Overlay{Command: argv.Command{Name: "grep", Exits: []argv.Exit{
		{Code: 1, Mean: "answer"}, {Code: 2, Mean: "error"}, {Code: 3, Mean: "failure"}, {Code: 64, Mean: "usage"},
	}}}
	runner := &overlays.Overlay{Command: argv.Command{Name: "make", Health: "spawn"}}
	for _, tt := range []struct {
		name    string
		overlay *overlays.Overlay
		outcome Outcome
		want    breaker.Class
	}{
		{"exit 0", known, Outcome{Kind: Exited}, breaker.Success},
		{"an answer", known, Outcome{Kind: Exited, Code: 1}, breaker.Success},
		{"an error of the caller's", known, Outcome{Kind: Exited, Code: 2}, breaker.Excluded},
		{"usage", known, Outcome{Kind: Exited, Code: 64}, breaker.Excluded},
		{"a code that nobody described", known, Outcome{Kind: Exited, Code: 99}, breaker.Excluded},
		{"a failure", known, Outcome{Kind: Exited, Code: 3}, breaker.Failure},
		{"a signal", known, Outcome{Kind: Signaled, Code: 139, Signal: "SEGV"}, breaker.Failure},
		{"a signal that we handed on", known, Outcome{Kind: Signaled, Code: 143, Signal: "TERM", ours: true}, breaker.Excluded},
		{"the reader left", known, Outcome{Kind: Signaled, Code: 141, Signal: "PIPE"}, breaker.Excluded},
		{"the caller's timeout", known, Outcome{Kind: TimedOut, Code: 143, Signal: "TERM"}, breaker.Excluded},
		{"the caller's timeout, exit 0", known, Outcome{Kind: TimedOut}, breaker.Excluded},
		{"cancelled", known, Outcome{Kind: Cancelled, Code: 143}, breaker.Excluded},
		{"not executable", known, Outcome{Kind: SpawnFailed, Code: 126}, breaker.Failure},
		{"not there any more", known, Outcome{Kind: SpawnFailed, Code: 127}, breaker.Failure},
		{"the cage failed", known, Outcome{Kind: SpawnFailed, Code: 125}, breaker.Excluded},
		{"a test runner fails", runner, Outcome{Kind: Exited, Code: 2}, breaker.Excluded},
		{"a test runner's answer", runner, Outcome{Kind: Exited, Code: 1}, breaker.Excluded},
		{"a test runner crashes", runner, Outcome{Kind: Signaled, Signal: "SEGV"}, breaker.Excluded},
		{"a test runner cannot start", runner, Outcome{Kind: SpawnFailed, Code: 126}, breaker.Failure},
		{"an unknown program crashes", nil, Outcome{Kind: Signaled, Signal: "SEGV"}, breaker.Excluded},
		{"an unknown program fails", nil, Outcome{Kind: Exited, Code: 1}, breaker.Excluded},
		{"an unknown program cannot start", nil, Outcome{Kind: SpawnFailed, Code: 126}, breaker.Failure},
	} {
		r := &run{overlay: tt.overlay, inv: &argv.Invocation{}}
		if tt.overlay != nil {
			r.inv.Command = &tt.overlay.Command
		}
		if got := r.count(&tt.outcome); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

package exec

import (
	"context"
	"os"
	"testing"
)

// BenchmarkJudge is the way of a call up to its start.
func BenchmarkJudge(b *testing.B) {
	s := New(Options{StateDir: b.TempDir()})
	root := b.TempDir()
	if err := os.WriteFile(root+"/f", nil, 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Run(context.Background(), &Call{Argv: []string{"cat", "f"}, Root: root, DryRun: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRun is a whole call, with the program that is run.
func BenchmarkRun(b *testing.B) {
	s := New(Options{StateDir: b.TempDir(), Launcher: true})
	root := b.TempDir()
	if err := os.WriteFile(root+"/f", nil, 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Run(context.Background(), &Call{Argv: []string{"cat", "f"}, Root: root}); err != nil {
			b.Fatal(err)
		}
	}
}

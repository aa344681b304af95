// Command genoverlays writes compiled.go into the working directory from the
// TOML files there. `go generate ./overlays` runs it.
package main

import (
	"fmt"
	"os"

	"github.com/wrapexec/wrap/overlays/internal/gen"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "genoverlays:", err)
		os.Exit(1)
	}
}

func run() error {
	text, err := gen.Source(os.DirFS("."))
	if err != nil {
		return err
	}
	return os.WriteFile("compiled.go", text, 0o644)
}

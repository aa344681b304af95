package overlays

//go:generate go run ./internal/genoverlays

// Lookup returns the overlays of a tool, by its bare command name: one for each
// variant that is described, in the order in which they are to be tried. It is
// nil for an unknown tool. The result is shared and must not be changed.
func Lookup(tool string) []*Overlay { return compiled(tool) }

// All returns every overlay, by tool and variant. The result is shared and must
// not be changed.
func All() []*Overlay { return all[:] }

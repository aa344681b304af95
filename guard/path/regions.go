package path

import (
	"runtime"
	"slices"
	"strings"
)

//go:generate go run ./internal/compile

// match is how a region's path is compared.
type match uint8

const (
	tree    match = iota // the path and all beneath it
	exact                // the path alone
	segment              // these names in a row, anywhere, and all beneath them
)

type region struct {
	role Role
	how  match
	os   string // GOOS, "" for every system
	path string
}

// Regions says what paths are to one caller. It is plain data; the zero value
// knows the system's regions and nothing of any home. All paths are absolute
// and clean. It may be used by many goroutines.
type Regions struct {
	// Homes are the caller's homes, in every spelling that may be met.
	Homes []string
	// Own are wrap's own files and directories, as Homes.
	Own []string
	// Root is the canonical path of the root, "" for none. A protected place
	// that the root lies in does not protect what lies beneath the root; those
	// beneath the root do.
	Root string
	// System is the GOOS whose table holds, "" for that of this build.
	System string
}

// Role is what the absolute, clean path p is: by canonical path, or by a
// spelling. Nothing is looked up in the file system.
//
// A spelling is compared without regard to capitals, since a file system may
// fold them; the root and what lies beneath it are compared exactly.
func (g *Regions) Role(p string) Role {
	for _, own := range g.Own {
		if fold(p, own) {
			return Own
		}
	}
	inner, inRoot := p, false
	role := Unknown
	if g.Root != "" {
		if rest, ok := Beneath(p, g.Root); ok {
			inner, inRoot, role = rest, true, Worktree
		}
	}
	homes := make([]string, 0, 2) // those that can say something of p
	for _, h := range g.Homes {
		if fold(p, h) {
			homes = append(homes, h)
		}
	}
	best, named, crossed := -1, Role(""), Role("")
	for i := range regions {
		r := &regions[i]
		if !g.applies(r) {
			continue
		}
		if r.how == segment {
			if hasSegment(inner, r.path) {
				crossed = Worse(crossed, r.role)
			}
			continue
		}
		for at := range places(r, homes) {
			if inRoot && r.role != RawDevice && r.role != StandardStream && above(at, g.Root) {
				continue
			}
			weight := 2 * len(at) // the longest speaks, and of two alike the exact one
			if r.how == exact {
				weight++
			}
			if weight > best && fold(p, at) && (r.how == tree || foldEqual(p, at)) {
				best, named = weight, r.role
			}
		}
	}
	if named != "" {
		role = named
	}
	if crossed != "" {
		role = Worse(role, crossed)
	}
	return role
}

// Place is a protected path, absolute and clean.
type Place struct {
	Path string
	Role Role
}

// Under lists the protected places that lie beneath the directory dir, but for
// those by a segment, which may be anywhere. They need not exist.
func (g *Regions) Under(dir string) []Place {
	var list []Place
	add := func(at string, role Role) {
		if rest, ok := Beneath(at, dir); ok && rest != "" {
			list = append(list, Place{at, role})
		}
	}
	for _, own := range g.Own {
		add(own, Own)
	}
	for i := range regions {
		r := &regions[i]
		if r.how == segment || r.role == Scratch || r.role == PackageContent || r.role == StandardStream || !g.applies(r) {
			continue
		}
		for at := range places(r, g.Homes) {
			add(at, r.role)
		}
	}
	return list
}

// Segments lists the names, or names in a row, that are protected wherever
// they stand, with what they are.
func (g *Regions) Segments() []Place {
	var list []Place
	for i := range regions {
		if r := &regions[i]; r.how == segment && g.applies(r) {
			list = append(list, Place{r.path, r.role})
		}
	}
	return list
}

// applies leaves out the regions of other systems. A home is known by its parts,
// and only somebody else's is closed as a whole.
func (g *Regions) applies(r *region) bool {
	system := g.System
	if system == "" {
		system = runtime.GOOS
	}
	return (r.os == "" || r.os == system) && !(r.path == "/root" && slices.Contains(g.Homes, r.path))
}

// places yields where a region lies: once, or in each of homes.
func places(r *region, homes []string) func(func(string) bool) {
	return func(yield func(string) bool) {
		if r.path[0] != '~' {
			yield(r.path)
			return
		}
		for _, h := range homes {
			if strings.HasPrefix(h, "/") && h != "/" && !yield(h+r.path[1:]) { // a daemon's home may be "/"
				return
			}
		}
	}
}

// Beneath reports whether the clean path p is dir or lies beneath it, name by
// name, and returns the rest, without a leading slash.
func Beneath(p, dir string) (rest string, ok bool) {
	switch {
	case p == dir:
		return "", true
	case dir == "/":
		return p[1:], strings.HasPrefix(p, "/")
	case len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir:
		return p[len(dir)+1:], true
	}
	return "", false
}

// above reports whether at is root or one of the directories above it.
func above(at, root string) bool {
	_, ok := Beneath(root, at)
	return ok
}

// Fold is Beneath without regard to capitals, for what is closed: what a file
// system that folds them would open is never missed.
func Fold(p, dir string) bool { return fold(p, dir) }

func fold(p, dir string) bool {
	if dir == "/" {
		return strings.HasPrefix(p, "/")
	}
	// Folding may change the length in bytes, so names are compared one by one.
	for {
		d, dRest, dMore := strings.Cut(dir, "/")
		n, nRest, nMore := strings.Cut(p, "/")
		if !foldEqual(n, d) {
			return false
		}
		if !dMore {
			return true
		}
		if !nMore {
			return false
		}
		dir, p = dRest, nRest
	}
}

func foldEqual(a, b string) bool { return a == b || strings.EqualFold(a, b) }

// hasSegment reports whether the names of seg stand in a row in p.
func hasSegment(p, seg string) bool {
	for {
		if fold(p, seg) {
			return true
		}
		i := strings.IndexByte(p, '/')
		if i < 0 {
			return false
		}
		p = p[i+1:]
	}
}

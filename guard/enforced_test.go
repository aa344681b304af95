package guard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	testRead  = ReadFile | ReadDir
	testWrite = testRead | WriteFile | Truncate | MakeReg | RemoveFile
)

// The cages of the calls that there are.
var (
	testReadonly = Cage{Rules: []Rule{{Path: "/r", Rights: testRead}, {Path: "/t", Rights: testWrite}}, NoAttr: true, Tmp: "/t"}
	testCopy     = Cage{Rules: []Rule{{Path: "/r", Rights: testWrite}}}
	testWriting  = Cage{
		Scope: ScopeRoot, Rules: []Rule{{Path: "/r", Rights: testWrite}}, Private: true, Protect: []string{".git"},
	}
)

// TestEnforced fakes every kernel by masking. A row names what is missing; all
// else that matters to its cage must be enforced.
func TestEnforced(t *testing.T) {
	with := func(c Cage, change func(*Cage)) Cage { change(&c); return c }
	all := []string{"fs", "truncate", "attr", "net", "unix", "tty", "caps", "signals", "abstract"}
	tests := []struct {
		name    string
		cage    Cage
		kernel  Kernel
		missing string
		whole   bool
	}{
		{"read-only, ABI 9", testReadonly, Kernel{9, true, true}, "", true},
		{"read-only, ABI 8", testReadonly, Kernel{8, true, true}, "", true},
		{"read-only, ABI 7", testReadonly, Kernel{7, true, false}, "", true},
		{"read-only, ABI 6", testReadonly, Kernel{6, true, false}, "", true},
		{"read-only, ABI 5", testReadonly, Kernel{5, true, false}, "signals abstract", true},
		{"read-only, ABI 4", testReadonly, Kernel{4, true, false}, "signals abstract", true},
		{"read-only, ABI 3", testReadonly, Kernel{3, true, false}, "signals abstract", true},
		{"read-only, ABI 2: the filter holds truncation", testReadonly, Kernel{2, true, false}, "signals abstract", true},
		{"read-only, ABI 1", testReadonly, Kernel{1, true, false}, "signals abstract", true},
		{"read-only, no Landlock", testReadonly, Kernel{0, true, true}, "fs signals abstract", false},
		{"read-only, no filter", testReadonly, Kernel{7, false, false}, "attr net unix tty", false},
		{"read-only, no filter, ABI 2", testReadonly, Kernel{2, false, false}, "truncate attr net unix tty signals abstract", false},
		{"read-only, nothing but mounts", testReadonly, Kernel{0, false, true}, "fs truncate attr net unix tty signals abstract", false},
		{"read-only, nothing at all", testReadonly, Kernel{}, "fs truncate attr net unix tty caps signals abstract", false},

		{"writing by name, ABI 7: nothing holds attributes", testCopy, Kernel{7, true, true}, "attr", false},
		{"writing by name, ABI 2: nothing holds truncation", testCopy, Kernel{2, true, true}, "truncate attr signals abstract", false},
		{"writing by name in a view", with(testCopy, func(c *Cage) { c.Private = true }), Kernel{7, true, true}, "", true},

		{"writing, ABI 7, mounts", testWriting, Kernel{7, true, true}, "", true},
		{"writing, ABI 5, mounts", testWriting, Kernel{5, true, true}, "signals abstract", true},
		{"writing, ABI 2, mounts", testWriting, Kernel{2, true, true}, "truncate signals abstract", false},
		{"writing, ABI 7, no mounts", testWriting, Kernel{7, true, false}, "attr protected", false},
		{"writing without a view", with(testWriting, func(c *Cage) { c.Private = false }), Kernel{7, true, true}, "attr protected", false},
		{"writing without a view or attributes", with(testWriting, func(c *Cage) { c.Private, c.NoAttr = false, true }), Kernel{7, true, true}, "protected", false},
		{"protected names, but only the temporary directory is writable", with(testReadonly, func(c *Cage) { c.Protect = []string{".git"} }), Kernel{7, true, false}, "", true},

		{"network, no filter", with(testReadonly, func(c *Cage) { c.Net = NetAll }), Kernel{7, false, false}, "attr unix tty", false},
		{"a socket, ABI 7: by any path", with(testReadonly, func(c *Cage) { c.Sockets = []string{"/s"} }), Kernel{7, true, false}, "unix", false},
		{"a socket, ABI 9: by its path", with(testReadonly, func(c *Cage) { c.Sockets = []string{"/s"} }), Kernel{9, true, false}, "", true},
		{"/proc", with(testReadonly, func(c *Cage) { c.Rules = []Rule{{Path: "/proc", Rights: testRead}} }), Kernel{7, true, false}, "proc.cmdline", true},
		{"a file of /proc", with(testReadonly, func(c *Cage) { c.Rules = []Rule{{Path: "/proc/stat", Rights: ReadFile}} }), Kernel{7, true, false}, "", true},
		{"the zero cage", Cage{}, Kernel{7, true, false}, "attr", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			enforced, missing := tt.cage.Enforced(tt.kernel)
			if got := strings.Join(missing, " "); got != tt.missing {
				t.Errorf("missing %q, want %q", got, tt.missing)
			}
			if got := Whole(missing); got != tt.whole {
				t.Errorf("Whole(%q) = %t, want %t", missing, got, tt.whole)
			}
			for _, name := range all {
				if slices.Contains(enforced, name) == slices.Contains(missing, name) {
					t.Errorf("%s is in both or none of enforced %q and missing %q", name, enforced, missing)
				}
			}
		})
	}
}

// TestEnforcedMonotone compares every kernel with every one that can do more:
// nothing that the lesser enforces is lost.
func TestEnforcedMonotone(t *testing.T) {
	var kernels []Kernel
	for abi := range 10 {
		for bits := range 4 {
			kernels = append(kernels, Kernel{abi, bits&1 != 0, bits&2 != 0})
		}
	}
	cages := map[string]Cage{"readonly": testReadonly, "copy": testCopy, "writing": testWriting}
	pairs := 0
	for name, c := range cages {
		for _, low := range kernels {
			for _, high := range kernels {
				if low.Landlock > high.Landlock || low.Seccomp && !high.Seccomp || low.Mounts && !high.Mounts {
					continue
				}
				pairs++
				was, _ := c.Enforced(low)
				is, missing := c.Enforced(high)
				for _, what := range was {
					if !slices.Contains(is, what) {
						t.Errorf("%s: %+v enforces %s and %+v does not", name, low, what, high)
					}
				}
				if _, lowMissing := c.Enforced(low); Whole(lowMissing) && !Whole(missing) {
					t.Errorf("%s: whole on %+v and not on %+v", name, low, high)
				}
			}
		}
	}
	if pairs < 1000 {
		t.Errorf("compared %d pairs only", pairs)
	}
}

func ExampleCage_Enforced() {
	c := Cage{NoAttr: true}
	_, missing := c.Enforced(Kernel{Landlock: 5, Seccomp: true})
	fmt.Println(missing, Whole(missing))
	// Output: [signals abstract] true
}

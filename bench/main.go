// Command bench measures what wrap adds to a run, beside what one would take
// instead, and writes the result as docs/BENCHMARKS.md.
//
// Every contestant runs the same tool on the same file, started in the same
// way, one after the other within a round, in an order shuffled anew for each
// round, so that neither the machine's mood nor what a predecessor leaves behind
// (bwrap's namespaces are taken down after it ended) meets one of them alone. It
// reports medians and asserts nothing: numbers of one machine are not a test.
//
//	go run ./bench -wrap bin/wrap -out docs/BENCHMARKS.md
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	wrap := flag.String("wrap", "bin/wrap", "the launcher to measure")
	out := flag.String("out", "", "the file to write (default: standard output)")
	rounds := flag.Int("rounds", 400, "rounds of the start-up measurement")
	size := flag.Int64("size", 1<<30, "bytes of the throughput file")
	flag.Parse()
	if err := run(*wrap, *out, *rounds, *size); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(wrap, out string, rounds int, size int64) error {
	wrap, err := filepath.Abs(wrap)
	if err != nil {
		return err
	}
	cat, err := osexec.LookPath("cat")
	if err != nil {
		return err
	}
	s, err := newScratch(size)
	if err != nil {
		return err
	}
	defer s.remove()

	startup := startupContestants(s, wrap, cat)
	s.check(startup)
	fmt.Fprintf(os.Stderr, "start-up: %d rounds\n", rounds)
	if err := s.measure(startup, rounds, s.run); err != nil {
		return err
	}

	bulk := []*contestant{
		{name: "cat to /dev/null", argv: []string{cat, "big"}},
		{name: "wrap cat to /dev/null", argv: []string{wrap, "--readonly", "cat", "big"}},
	}
	piped := []*contestant{
		{name: "cat to a pipe", argv: bulk[0].argv},
		{name: "wrap cat to a pipe", argv: bulk[1].argv},
	}
	fmt.Fprintf(os.Stderr, "throughput: %d bytes\n", size)
	if err := s.measure(bulk, 20, s.run); err != nil {
		return err
	}
	if err := s.measure(piped, 20, s.runPiped); err != nil {
		return err
	}

	text := report(machine(), startup, append(bulk, piped...), size)
	if out == "" {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	return os.WriteFile(out, []byte(text), 0o644)
}

// contestant is one way of running the tool.
type contestant struct {
	name string
	argv []string
	note string
	// absent says why it could not be measured, "" if it was.
	absent string
	took   []time.Duration
}

// startupContestants are the bare tool, first, then timeout, which every ratio
// refers to, then the rest.
func startupContestants(s *scratch, wrap, cat string) []*contestant {
	wrapped := func(flags ...string) []string {
		return slices.Concat([]string{wrap, "--readonly"}, flags, []string{"cat", "small"})
	}
	list := []*contestant{
		{name: "bare", argv: []string{cat, "small"}, note: "`cat FILE`"},
		{name: "timeout", argv: []string{"timeout", "60", cat, "small"}, note: "`timeout 60 cat FILE`: holds it to nothing"},
		{name: "wrap", argv: wrapped(), note: "`wrap --readonly cat FILE`: judgement, cage, breaker, audit"},
		{name: "wrap, no breaker", argv: wrapped("--no-breaker"), note: "the same with `--no-breaker`"},
		{name: "wrap, no cage", argv: wrapped("-q", "--cage", "off"), note: "the same with `--cage off`"},
		{name: "bwrap", argv: []string{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", cat, "small"}, note: "`bwrap --ro-bind / / --dev /dev`: all of the disk readable, the network open"},
	}
	landrun := &contestant{name: "landrun", note: "`landrun --best-effort --rox /usr --ro DIR`: Landlock only"}
	if bin, err := s.goTool("landrun", "github.com/zouuup/landrun/cmd/landrun"); err != nil {
		landrun.absent = err.Error()
	} else {
		landrun.argv = []string{bin, "--best-effort", "--rox", "/usr", "--ro", s.project, cat, "small"}
	}
	restrict := &contestant{name: "landlock-restrict", note: "go-landlock's own command, `-ro /usr DIR`: Landlock only"}
	if bin, err := s.goTool("landlock-restrict", "github.com/landlock-lsm/go-landlock/cmd/landlock-restrict"); err != nil {
		restrict.absent = err.Error()
	} else {
		restrict.argv = []string{bin, "-ro", "/usr", s.project, "--", cat, "small"}
	}
	return append(list, landrun, restrict)
}

// scratch is where the contestants run.
type scratch struct {
	dir, project string
	small        []byte
	null         *os.File
	env          []string
}

// newScratch makes a project with a small file and one of the given size. The
// big file is sparse: reading it costs no disk, so that what stands between the
// file and its reader is all there is to see.
func newScratch(size int64) (*scratch, error) {
	dir, err := os.MkdirTemp("", "wrap-bench-")
	if err != nil {
		return nil, err
	}
	s := &scratch{dir: dir, project: filepath.Join(dir, "project"), small: []byte("a small file\n")}
	// Our own records must not land in the caller's log.
	s.env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	err = errors.Join(
		os.Mkdir(s.project, 0o755),
		os.WriteFile(filepath.Join(s.project, "small"), s.small, 0o644),
		os.WriteFile(filepath.Join(s.project, "big"), nil, 0o644),
		os.Truncate(filepath.Join(s.project, "big"), size),
	)
	if err == nil {
		s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

func (s *scratch) remove() {
	s.null.Close()
	os.RemoveAll(s.dir)
}

// goTool finds a command on PATH, or installs it into a cache directory with
// the go command. It is a comparison and nothing depends on it.
func (s *scratch) goTool(name, pkg string) (string, error) {
	if bin, err := osexec.LookPath(name); err == nil {
		return bin, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "wrap-bench")
	bin := filepath.Join(dir, name)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	cmd := osexec.Command("go", "install", pkg+"@latest")
	cmd.Dir = s.dir // outside of any module: ours must not resolve it
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("not on PATH, and `go install %s@latest` did not work", pkg)
	}
	return bin, nil
}

// check runs each contestant once and marks as absent what is not installed,
// does not exit with 0 or does not print the file: it would be measured failing.
func (s *scratch) check(list []*contestant) {
	for _, c := range list {
		if c.absent != "" {
			continue
		}
		bin, err := osexec.LookPath(c.argv[0])
		if err != nil {
			c.absent = c.argv[0] + " is not installed"
			continue
		}
		c.argv[0] = bin
		cmd := osexec.Command(bin, c.argv[1:]...)
		cmd.Dir, cmd.Env = s.project, s.env
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		got, err := cmd.Output()
		switch {
		case err != nil:
			c.absent = fmt.Sprintf("%v: %s", err, strings.TrimSpace(stderr.String()))
		case !bytes.Equal(got, s.small):
			c.absent = fmt.Sprintf("printed %q, want the file", got)
		}
	}
}

// measure times each contestant once a round.
func (s *scratch) measure(list []*contestant, rounds int, run func(*contestant) error) error {
	shuffle := rand.New(rand.NewPCG(1, 2))     // the same orders in every run
	for round := -1; round < rounds; round++ { // round -1 warms the caches
		for _, i := range shuffle.Perm(len(list)) {
			c := list[i]
			if c.absent != "" {
				continue
			}
			start := time.Now()
			if err := run(c); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if round >= 0 {
				c.took = append(c.took, time.Since(start))
			}
		}
	}
	return nil
}

// run starts c with its streams on /dev/null and waits for its end.
func (s *scratch) run(c *contestant) error { return s.start(c, s.null, nil) }

// runPiped starts c with its output on a pipe and reads that to the end.
func (s *scratch) runPiped(c *contestant) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	return s.start(c, w, func() error {
		w.Close()
		_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 1<<20))
		return err
	})
}

// start runs c without os/exec's goroutines and pipes, so that only the kernel
// stands between the two clock readings.
func (s *scratch) start(c *contestant, stdout *os.File, meanwhile func() error) error {
	p, err := os.StartProcess(c.argv[0], c.argv, &os.ProcAttr{
		Dir: s.project, Env: s.env, Files: []*os.File{s.null, stdout, os.Stderr},
	})
	if err != nil {
		return err
	}
	if meanwhile != nil {
		err = meanwhile()
	}
	state, waitErr := p.Wait()
	if err := errors.Join(err, waitErr); err != nil {
		return err
	}
	if !state.Success() {
		return errors.New(state.String())
	}
	return nil
}

package main

import (
	"fmt"
	"os"
	osexec "os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// report is the whole document. The first two start-up contestants are the
// bare tool and timeout.
func report(facts string, startup, bulk []*contestant, size int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Benchmarks

Written by %[1]smake bench%[1]s. One machine's numbers; what carries over is the ratios.

%[2]s
## Start-up

A run of %[1]scat%[1]s on a 13-byte file, from before the fork to the end of the wait, %[3]d rounds, contestants interleaved. *Added* is the median over the rounds of the difference from the bare tool in the same round; *× timeout* is that, divided by what %[1]stimeout%[1]s adds.

| contestant | median ms | quartiles ms | added ms | × timeout | what |
|---|---|---|---|---|---|
`, "`", facts, len(startup[0].took))
	base := median(differences(startup[1].took, startup[0].took))
	for i, c := range startup {
		if c.absent != "" {
			fmt.Fprintf(&b, "| %s | | | | | not measured: %s |\n", c.name, cell(c.absent))
			continue
		}
		added, ratio := "", ""
		if i > 0 {
			d := median(differences(c.took, startup[0].took))
			added = fmt.Sprintf("%.3f", ms(d))
			if base > 0 {
				ratio = fmt.Sprintf("%.2f", float64(d)/float64(base))
			}
		}
		fmt.Fprintf(&b, "| %s | %.3f | %.3f to %.3f | %s | %s | %s |\n",
			c.name, ms(median(c.took)), ms(quantile(c.took, 0.25)), ms(quantile(c.took, 0.75)), added, ratio, cell(c.note))
	}
	fmt.Fprintf(&b, `
## Throughput

%[1]scat%[1]s of a sparse file of %[2]d MiB, %[3]d rounds, alone and under %[1]swrap --readonly%[1]s. The streams are inherited, so nothing of wrap stands between the tool and its reader.

| contestant | median ms | GiB/s | × cat alone |
|---|---|---|---|
`, "`", size>>20, len(bulk[0].took))
	for i, c := range bulk {
		alone := bulk[i&^1] // pairs: alone, wrapped
		m := median(c.took)
		fmt.Fprintf(&b, "| %s | %.1f | %.2f | %.3f |\n",
			c.name, ms(m), float64(size)/(1<<30)/m.Seconds(), float64(m)/float64(median(alone.took)))
	}
	return b.String()
}

// machine describes where this runs, as a list.
func machine() string {
	var b strings.Builder
	item := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, value)
		}
	}
	item("date", time.Now().UTC().Format(time.DateOnly))
	item("processor", fmt.Sprintf("%s, %d cores", fieldOf("/proc/cpuinfo", "model name"), runtime.NumCPU()))
	item("memory", fieldOf("/proc/meminfo", "MemTotal"))
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	major, _, _ := strings.Cut(strings.TrimSpace(string(kernel)), "-") // the build's suffix says nothing
	item("kernel", runtime.GOOS+" "+major)
	item("system", strings.Trim(fieldOf("/etc/os-release", "PRETTY_NAME"), `"`))
	item("Go", strings.TrimPrefix(runtime.Version(), "go"))
	item("user", fmt.Sprintf("uid %d", os.Geteuid()))
	if out, err := osexec.Command("bwrap", "--version").Output(); err == nil {
		item("bwrap", strings.TrimSpace(strings.TrimPrefix(string(out), "bubblewrap ")))
	}
	return b.String()
}

// fieldOf is the value of the first "key : value" or "key=value" line of a
// file, "" if there is none.
func fieldOf(file, key string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			return strings.TrimSpace(strings.TrimLeft(rest, " \t:="))
		}
	}
	return ""
}

// differences is a-b, element by element: one difference a round.
func differences(a, b []time.Duration) []time.Duration {
	n := min(len(a), len(b))
	d := make([]time.Duration, n)
	for i := range d {
		d[i] = a[i] - b[i]
	}
	return d
}

// median is quantile one half.
func median(d []time.Duration) time.Duration { return quantile(d, 0.5) }

// quantile interpolates between the two nearest ranks; 0 of nothing.
func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	at := q * float64(len(s)-1)
	low := int(at)
	high := min(low+1, len(s)-1)
	return s[low] + time.Duration((at-float64(low))*float64(s[high]-s[low]))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// cell makes s fit a table cell.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
}

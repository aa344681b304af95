package main

import (
	"strings"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []time.Duration
		q    float64
		want time.Duration
	}{
		{"nothing", nil, 0.5, 0},
		{"one", []time.Duration{7}, 0.5, 7},
		{"odd, unsorted", []time.Duration{30, 10, 20}, 0.5, 20},
		{"even", []time.Duration{10, 20, 30, 40}, 0.5, 25},
		{"quartile", []time.Duration{0, 10, 20, 30, 40}, 0.25, 10},
		{"maximum", []time.Duration{1, 2, 3}, 1, 3},
		{"differences may be negative", []time.Duration{-4, -2, 9}, 0.5, -2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := quantile(tt.in, tt.q); got != tt.want {
				t.Errorf("quantile(%v, %v) = %v, want %v", tt.in, tt.q, got, tt.want)
			}
		})
	}
}

// TestReport pins the arithmetic of the two tables: added is the median of the
// differences within a round, not the difference of medians, and an absent
// contestant is named instead of measured.
func TestReport(t *testing.T) {
	const ms = time.Millisecond
	bare := &contestant{name: "bare", took: []time.Duration{1 * ms, 5 * ms, 2 * ms}}
	timeout := &contestant{name: "timeout", took: []time.Duration{2 * ms, 6 * ms, 3 * ms}}
	wrap := &contestant{name: "wrap", took: []time.Duration{4 * ms, 7 * ms, 4 * ms}}
	gone := &contestant{name: "landrun", absent: "not | here\nat all"}
	alone := &contestant{name: "cat", took: []time.Duration{500 * ms}}
	wrapped := &contestant{name: "wrap cat", took: []time.Duration{505 * ms}}
	got := report("- a fact\n", []*contestant{bare, timeout, wrap, gone}, []*contestant{alone, wrapped}, 1<<30)
	for _, want := range []string{
		"- a fact\n",
		"3 rounds",
		"| bare | 2.000 | 1.500 to 3.500 |  |  |  |\n",
		"| timeout | 3.000 | 2.500 to 4.500 | 1.000 | 1.00 |  |\n",
		"| wrap | 4.000 | 4.000 to 5.500 | 2.000 | 2.00 |  |\n",
		`| landrun | | | | | not measured: not \| here at all |` + "\n",
		"| cat | 500.0 | 2.00 | 1.000 |\n",
		"| wrap cat | 505.0 | 1.98 | 1.010 |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("report lacks %q; it is:\n%s", want, got)
		}
	}
}

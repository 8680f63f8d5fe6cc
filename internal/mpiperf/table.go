package mpiperf

import (
	"fmt"
	"io"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// A Table prints results as they come, for people.
type Table struct {
	W io.Writer

	headed bool
	last   perf.Test
}

// Add writes one result.
func (t *Table) Add(r Result) error {
	if !t.headed {
		t.headed = true
		if _, err := fmt.Fprintf(t.W, "%-20s %-8s %5s %9s %6s %10s %11s %11s %11s %11s %11s  %s\n",
			"TEST", "METHOD", "RANKS", "SIZE", "WINDOW", "ITERATIONS", "MEDIAN", "P99", "MIN", "AVG", "MAX", "UNIT"); err != nil {
			return err
		}
	} else if r.Test != t.last {
		if _, err := fmt.Fprintln(t.W); err != nil {
			return err
		}
	}
	t.last = r.Test
	_, err := fmt.Fprintf(t.W, "%-20s %-8s %5d %9s %6d %10d %11s %11s %11s %11s %11s  %s\n",
		r.Test, r.Method, r.Ranks, perf.FormatSize(r.Size), r.Window, r.Iterations,
		perf.FormatValue(r.Median, r.Unit), perf.FormatValue(r.P99, r.Unit),
		perf.FormatValue(r.Min, r.Unit), perf.FormatValue(r.Avg, r.Unit), perf.FormatValue(r.Max, r.Unit), r.Unit)
	return err
}

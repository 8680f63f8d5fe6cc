package cli

import (
	"fmt"
	"io"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// perfOutput prints results as they come: a table for people, or lines of JSON.
type perfOutput struct {
	w      io.Writer
	json   bool
	headed bool
	last   perf.Test
}

func newPerfOutput(w io.Writer, asJSON bool) *perfOutput {
	return &perfOutput{w: w, json: asJSON}
}

func (o *perfOutput) add(r perf.Result) error {
	if o.json {
		return r.WriteJSON(o.w)
	}
	if !o.headed {
		o.headed = true
		if _, err := fmt.Fprintf(o.w, "%-14s %-10s %9s %7s %14s %14s  %s\n", "TEST", "METHOD", "SIZE", "WINDOW", "MEDIAN", "P99", "UNIT"); err != nil {
			return err
		}
	} else if r.Test != o.last {
		if _, err := fmt.Fprintln(o.w); err != nil {
			return err
		}
	}
	o.last = r.Test
	_, err := fmt.Fprintf(o.w, "%-14s %-10s %9s %7d %14s %14s  %s\n",
		r.Test, r.Method, perf.FormatSize(r.Size), r.Window, perf.FormatValue(r.Median, r.Unit), perf.FormatValue(r.P99, r.Unit), r.Unit)
	return err
}

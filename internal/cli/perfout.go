package cli

import (
	"io"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// perfOutput prints results as they come: a table for people, or lines of JSON.
type perfOutput struct {
	w     io.Writer
	table *program.Table[perfRow]
	last  perf.Test
}

// perfRow is a result, and what people see of it.
type perfRow struct {
	perf.Result
	ShownTest   perf.Test          `json:"-" table:"TEST,14"`
	ShownMethod string             `json:"-" table:"METHOD,10"`
	ShownSize   program.ExactBytes `json:"-" table:"SIZE,9"`
	ShownWindow int                `json:"-" table:"WINDOW,7"`
	ShownMedian string             `json:"-" table:"MEDIAN,14,right"`
	ShownP99    string             `json:"-" table:"P99,14,right"`
	ShownUnit   string             `json:"-" table:"UNIT"`
}

func newPerfOutput(w io.Writer, inJSON bool) *perfOutput {
	return &perfOutput{w: w, table: program.NewTable[perfRow](w, inJSON).Live()}
}

func (o *perfOutput) add(r perf.Result) error {
	if r.Test != o.last {
		if err := o.table.Gap(); err != nil {
			return err
		}
	}
	o.last = r.Test
	return o.table.Add(perfRow{
		r, r.Test, r.Method, program.ExactBytes(r.Size), r.Window, perf.FormatValue(r.Median, r.Unit), perf.FormatValue(r.P99, r.Unit), r.Unit,
	})
}

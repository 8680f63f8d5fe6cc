package mpiperf

import (
	"io"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// A Table prints results as they come.
type Table struct {
	table *program.Table[row]
	last  perf.Test
}

// row is a result, and what people see of it.
type row struct {
	Result
	ShownTest       perf.Test          `json:"-" table:"TEST,20"`
	ShownMethod     string             `json:"-" table:"METHOD,8"`
	ShownRanks      int                `json:"-" table:"RANKS,5"`
	ShownSize       program.ExactBytes `json:"-" table:"SIZE,9"`
	ShownWindow     int                `json:"-" table:"WINDOW,6"`
	ShownIterations int                `json:"-" table:"ITERATIONS,10"`
	ShownMedian     string             `json:"-" table:"MEDIAN,11,right"`
	ShownP99        string             `json:"-" table:"P99,11,right"`
	ShownMin        string             `json:"-" table:"MIN,11,right"`
	ShownAvg        string             `json:"-" table:"AVG,11,right"`
	ShownMax        string             `json:"-" table:"MAX,11,right"`
	ShownUnit       string             `json:"-" table:"UNIT"`
}

// NewTable returns a table for people, or lines of JSON.
func NewTable(w io.Writer, inJSON bool) *Table {
	return &Table{table: program.NewTable[row](w, inJSON).Live()}
}

// Add prints one result.
func (t *Table) Add(r Result) error {
	if r.Test != t.last {
		if err := t.table.Gap(); err != nil {
			return err
		}
	}
	t.last = r.Test
	value := func(v float64) string { return perf.FormatValue(v, r.Unit) }
	return t.table.Add(row{
		r, r.Test, r.Method, r.Ranks, program.ExactBytes(r.Size), r.Window, r.Iterations,
		value(r.Median), value(r.P99), value(r.Min), value(r.Avg), value(r.Max), r.Unit,
	})
}

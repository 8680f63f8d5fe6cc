package pvfsd

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
)

// fieldsOf returns the rows that are not 0 as fields of a log line.
func fieldsOf(rows []server.Row) []any {
	var fields []any
	for _, r := range rows {
		if r.Count > 0 {
			fields = append(fields, r.Name, r.Count)
		}
	}
	return fields
}

// farewell prints what the server did and refused: a sentence, and a line for each other row that is not 0.
func (a *App) farewell(alias string, rows []server.Row) {
	count := make(map[string]uint64, len(rows))
	for _, r := range rows {
		count[r.Name] = r.Count
	}
	told := []string{"requests", "requests refused or failed", "bytes in", "bytes out"}
	fmt.Fprintf(a.Err, "pvfsd: %s stops after %d requests, %d of them refused or failed; %d bytes in, %d bytes out\n",
		alias, count[told[0]], count[told[1]], count[told[2]], count[told[3]])
	for _, name := range told {
		delete(count, name)
	}
	for _, r := range rows {
		if n := count[r.Name]; n > 0 {
			fmt.Fprintf(a.Err, "pvfsd: %12d  %s\n", n, r.Name)
		}
	}
}

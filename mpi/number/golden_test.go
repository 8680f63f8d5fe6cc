package number_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/mpi/number"
)

// TestGolden: results that do not depend on what is installed. TestAgainstC shows that they are C's.
// They are written by go test ./mpi/number -run TestGolden -update.
func TestGolden(t *testing.T) {
	for _, kind := range []string{"Float16", "Float128", "Int128", "LongDouble"} {
		r := rand.New(rand.NewPCG(9, 10))
		draw := drawers(r)[kind]
		var text bytes.Buffer
		for range 200 {
			ahi, alo := draw()
			bhi, blo := draw()
			fmt.Fprintf(&text, "%016x%016x %016x%016x", ahi, alo, bhi, blo)
			for _, got := range here(kind, ahi, alo, bhi, blo) {
				if got.nan {
					fmt.Fprintf(&text, " | %s NaN", got.what)
				} else {
					fmt.Fprintf(&text, " | %s %016x%016x", got.what, got.hi, got.lo)
				}
			}
			text.WriteByte('\n')
		}
		name := kind
		if kind == "LongDouble" {
			name = "LongDouble-x87"
			if number.LongDoubleIsFloat128 {
				name = "LongDouble-binary128"
			}
		}
		if kind != "LongDouble" && number.LongDoubleIsFloat128 {
			continue // the last column differs
		}
		golden.Check(t, "testdata/"+name+".txt", text.Bytes())
	}
}

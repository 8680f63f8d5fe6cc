package number_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/mpi/number"
)

// TestGolden compares with stored results, so it needs no C compiler. TestAgainstC shows that they
// are those of C. go test ./mpi/number -run TestGolden -update writes them.
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
				switch {
				case got.what == "long double": // depends on the machine
				case got.nan:
					fmt.Fprintf(&text, " | %s NaN", got.what)
				default:
					fmt.Fprintf(&text, " | %s %016x%016x", got.what, got.hi, got.lo)
				}
			}
			text.WriteByte('\n')
		}
		if kind == "LongDouble" && number.LongDoubleIsFloat128 {
			kind = "Float128" // they are the same
		}
		golden.Check(t, "testdata/"+kind+".txt", text.Bytes())
	}
}

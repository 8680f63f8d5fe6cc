package reliable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// checkTable compares a table, to the last digit, with its file. Congestion control
// computes with floating point, and the compiler may round a product and a sum once
// instead of twice where the processor can (arm64 always, amd64 with GOAMD64=v3): then
// the results differ, are just as good, and have no file to compare with. The
// properties that a table must show are checked before, on every machine.
func checkTable(t *testing.T, path, table string) {
	t.Helper()
	if fuses() {
		t.Skipf("%s was written where a product is rounded before a sum, here both are one operation, and another run comes of it:\n%s", path, table)
	}
	golden.Check(t, path, []byte(table))
}

// fuses reports whether the product is not rounded before the sum.
func fuses() bool { return multiplyAdd(1+0x1p-30, 1-0x1p-30, -1) != 0 }

//go:noinline
func multiplyAdd(x, y, z float64) float64 { return x*y + z }

// The product needs more bits than there are, and is 1 when it is rounded.
func TestFusedOrNot(t *testing.T) {
	if fuses() {
		require.Equal(t, -0x1p-60, multiplyAdd(1+0x1p-30, 1-0x1p-30, -1))
	}
	require.Equal(t, 7.0, multiplyAdd(2, 3, 1))
}

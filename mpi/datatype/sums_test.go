package datatype

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestSums holds sums against numbers without limits.
func TestSums(t *testing.T) {
	edges := []int{0, 1, -1, 2, -2, 3, 1 << 31, -1 << 31, 1<<31 - 1, 1<<31 + 1, 1 << 32, -1 << 32, 3037000499, 3037000500,
		math.MaxInt / 2, math.MinInt / 2, math.MaxInt/2 + 1, math.MaxInt - 1, math.MinInt + 1, math.MaxInt, math.MinInt}
	for _, a := range edges {
		for _, b := range edges {
			x, y := big.NewInt(int64(a)), big.NewInt(int64(b))
			for name, op := range map[string]struct {
				exact *big.Int
				got   func(c *sums) int
			}{
				"+": {new(big.Int).Add(x, y), func(c *sums) int { return c.add(a, b) }},
				"-": {new(big.Int).Sub(x, y), func(c *sums) int { return c.sub(a, b) }},
				"×": {new(big.Int).Mul(x, y), func(c *sums) int { return c.mul(a, b) }},
			} {
				var c sums
				got := op.got(&c)
				assert.Equal(t, !op.exact.IsInt64(), c.bad, "%d %s %d", a, name, b)
				if !c.bad {
					assert.Equal(t, op.exact.Int64(), int64(got), "%d %s %d", a, name, b)
				}
			}
		}
	}
}

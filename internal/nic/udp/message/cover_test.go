package message

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestCover compares a cover with a slice of bools.
func TestCover(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		p := newPair(t, seed, nic.PortAttrs{RecvDepth: 1, SendDepth: 1})
		q := p.sides[0].q
		for range 100 {
			var c cover
			var have [200]bool
			for range 60 {
				first := p.rng.IntN(200)
				end := first + 1 + p.rng.IntN(min(200-first, 1+p.rng.IntN(30)))
				require.True(t, q.add(&c, uint32(first), uint32(end)))
				count, front := 0, 0
				for i := range have {
					have[i] = have[i] || i >= first && i < end
					if have[i] {
						count++
						if front == i {
							front++
						}
					}
				}
				require.Equal(t, uint32(count), c.have)
				require.Equal(t, uint32(front), c.front)
				islands, last := 0, c.front
				for is := c.head; is != nil; is = is.next {
					require.Greater(t, is.first, last)
					require.Greater(t, is.end, is.first)
					last = is.end
					islands++
					if is.next == nil {
						require.Same(t, c.tail, is)
					}
				}
				require.Equal(t, islands, q.islands)
			}
			q.forget(&c)
			require.Zero(t, q.islands)
		}
	})
}

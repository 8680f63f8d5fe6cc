package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// TestOrderOfReceives: messages match the oldest receive that fits, if they come in the order of
// the receives, in the reverse order, or from the middle.
func TestOrderOfReceives(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 2, method, core.Limits{})
		const n = 40
		for name, tag := range map[string]func(i int) int{
			"in order":    func(i int) int { return i },
			"backwards":   func(i int) int { return n - 1 - i },
			"next to":     func(i int) int { return i ^ 3 },
			"far between": func(i int) int { return i * 17 % n },
			"all alike":   func(int) int { return n },
		} {
			var rs [2 * n]core.Request
			var in [2 * n]core.Buffer
			for i := range rs {
				in[i] = room(4)
				want := i % n // two with each tag
				if name == "all alike" || i%5 == 4 {
					want = core.AnyTag
				}
				var err error
				rs[i], err = d[1].s.Irecv(in[i], 0, want)
				require.NoError(t, err)
			}
			require.NoError(t, rs[2*n-1].Cancel()) // from the end
			require.NoError(t, rs[1].Cancel())
			free := make([]bool, 2*n)
			for i := range free {
				free[i] = i != 1 && i != 2*n-1
			}
			for k := range 2 * n {
				sent := tag(k % n)
				for i := range rs {
					if free[i] && (name == "all alike" || i%5 == 4 || i%n == sent) {
						free[i] = false
						require.NoError(t, d[0].s.Send(core.Standard, mem(4, byte(k)), 1, sent))
						st := d[1].mustWait(rs[i], nil)
						require.Equal(t, core.Status{Source: 0, Tag: sent, Bytes: 4}, st, "%s: receive %d", name, i)
						require.Equal(t, mem(4, byte(k)), in[i], "%s: receive %d", name, i)
						break
					}
				}
			}
			for i := range rs {
				if free[i] {
					require.NoError(t, rs[i].Cancel())
				}
				d[1].mustWait(rs[i], nil)
			}
			require.Zero(t, d[1].e.Stats().Posted, name)
		}
	})
}

package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// TestSendsThatAreOutAtOnce: their requests are reported once, like any other, and their ops can be
// reused without any state.
func TestSendsThatAreOutAtOnce(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 2, method, core.Limits{})
		const n = 100 // more than a connection has credits for, and less than its window
		require.NoError(t, d[1].s.Send(core.Standard, room(0), 0, 9))
		d[0].mustWait(d[0].s.Irecv(room(0), 1, 9)) // now the window is known
		for round := range 3 {
			rs := make([]core.Request, n)
			for i := range rs {
				var err error
				rs[i], err = d[0].s.Isend(core.Standard, mem(i%60, byte(i)), 1, round)
				require.NoError(t, err)
			}
			told := make([]bool, n)
			for range rs {
				i, st, err := d[0].e.WaitAny(t.Context(), rs)
				require.NoError(t, err)
				require.False(t, told[i], "request %d was told of before", i)
				told[i] = true
				assert.Equal(t, core.Empty, st)
				assert.NoError(t, rs[i].Cancel(), "it comes too late")
				assert.Error(t, rs[i].Free())
			}
			i, st, err := d[0].e.WaitAny(t.Context(), rs)
			require.NoError(t, err)
			assert.Equal(t, -1, i)
			assert.Equal(t, core.Empty, st)
			for i := range n {
				in := room(64)
				st := d[1].mustWait(d[1].s.Irecv(in, 0, round))
				require.Equal(t, core.Status{Source: 0, Tag: round, Bytes: i % 60}, st)
				require.Equal(t, mem(i%60, byte(i)).Mem, in.Mem[:i%60])
			}
		}
	})
}

// TestExchangeOfBytes: ranks that exchange get each other's data, for every size.
func TestExchangeOfBytes(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 2, method, core.Limits{})
		sizes := []int{0, 1, 8, 24, 25, 500, 9000, 100000}
		done := make(chan struct{})
		exchange := func(me int) {
			for round := range 10 {
				for i, size := range sizes {
					in := make([]byte, size)
					st, err := d[me].s.ExchangeBytes(mem(size, byte(me+i)).Mem, 1-me, in, 1-me, round)
					if assert.NoError(t, err) {
						assert.Equal(t, core.Status{Source: 1 - me, Tag: round, Bytes: size}, st)
						assert.Equal(t, mem(size, byte(1-me+i)).Mem, in)
					}
				}
			}
		}
		go func() {
			defer close(done)
			exchange(1)
		}()
		exchange(0)
		<-done
		_, err := d[0].s.ExchangeBytes(nil, 2, nil, 1, 0)
		assert.Error(t, err, "to nobody")
		_, err = d[0].s.ExchangeBytes(nil, 1, nil, 2, 0)
		assert.Error(t, err, "from nobody")
		st, err := d[0].s.ExchangeBytes(nil, core.ProcNull, nil, core.ProcNull, 0)
		assert.NoError(t, err)
		assert.Equal(t, core.ProcNull, st.Source)
	})
}

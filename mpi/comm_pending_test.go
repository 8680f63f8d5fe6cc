package mpi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestIdupBesideDup: an Idup for which the other process is not ready yet does not block the
// creation of another communicator.
func TestIdupBesideDup(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		const first, last = 0, 2
		pair := func(other int) *mpi.Comm {
			color := mpi.Undefined
			if w.Rank() != other {
				color = 0
			}
			c, err := w.Split(color, 0)
			require.NoError(t, err)
			return c
		}
		a, b := pair(last), pair(1) // of ranks 0 and 1, of 0 and 2
		var dup *mpi.Comm
		for range 20 {
			switch w.Rank() {
			case first:
				r, err := a.Idup(&dup)
				require.NoError(t, err)
				for range 3 { // so that the goroutine of Idup runs first
					_, done, err := r.Test()
					require.NoError(t, err)
					require.False(t, done)
				}
				other, err := b.Dup()
				require.NoError(t, err)
				require.NoError(t, other.Free())
				_, err = r.Wait()
				require.NoError(t, err)
			case last:
				other, err := b.Dup()
				require.NoError(t, err)
				require.NoError(t, other.Free())
				require.NoError(t, mpi.Send(w, []int{}, 1, 0))
			default:
				_, err := mpi.Recv(w, []int{}, last, 0)
				require.NoError(t, err)
				dup, err = a.Dup()
				require.NoError(t, err)
			}
			if dup != nil {
				require.NoError(t, mpi.Barrier(dup))
				require.NoError(t, dup.Free())
			}
		}
	})
}

// TestFreedWithReceive: a receive that is pending when its communicator is freed takes no message
// of a later one (MPI-4.1, 7.4.3).
func TestFreedWithReceive(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		for range 50 {
			c, err := w.Dup()
			require.NoError(t, err)
			old := []int{-1}
			waits, err := mpi.Irecv(c, old, mpi.AnySource, mpi.AnyTag)
			require.NoError(t, err)
			require.NoError(t, c.Free())
			d, err := w.Dup()
			require.NoError(t, err)
			sent, err := mpi.Isend(d, []int{w.Rank()}, 1-w.Rank(), 5)
			require.NoError(t, err)
			_, done, err := waits.Test()
			require.NoError(t, err)
			require.False(t, done)
			got := []int{-1}
			_, err = mpi.Recv(d, got, 1-w.Rank(), 5)
			require.NoError(t, err)
			assert.Equal(t, 1-w.Rank(), got[0])
			_, err = sent.Wait()
			require.NoError(t, err)
			require.NoError(t, waits.Cancel())
			st, err := waits.Wait()
			require.NoError(t, err)
			assert.True(t, st.Cancelled)
			require.NoError(t, d.Free())
		}
	})
}

// TestIdupCopiesAtOnce: changes of attributes and info after the call are not in the duplicate
// (MPI-4.1, 7.4.2).
func TestIdupCopiesAtOnce(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		var deleted []any
		key := mpi.NewKeyval(mpi.KeepAttr, func(_ *mpi.Comm, _ *mpi.Keyval, value any) error {
			deleted = append(deleted, value)
			return nil
		})
		late := mpi.NewKeyval(mpi.KeepAttr, nil)
		c, err := w.Dup()
		require.NoError(t, err)
		require.NoError(t, c.SetAttr(key, "early"))
		hints, err := mpi.NewInfo("a", "early")
		require.NoError(t, err)
		var dup, plain *mpi.Comm
		if w.Rank() == 1 {
			_, err := mpi.Recv(w, []int{}, 0, 0)
			require.NoError(t, err)
		}
		r, err := c.IdupWithInfo(&dup, hints)
		require.NoError(t, err)
		s, err := c.Idup(&plain)
		require.NoError(t, err)
		require.NoError(t, hints.Set("a", "late"))
		require.NoError(t, c.SetInfo(hints))
		require.NoError(t, c.DeleteAttr(key))
		require.NoError(t, c.SetAttr(late, "late"))
		if w.Rank() == 0 {
			require.NoError(t, mpi.Send(w, []int{}, 1, 0))
		}
		require.NoError(t, mpi.WaitAll(r, s))
		for _, d := range []*mpi.Comm{dup, plain} {
			value, ok, err := d.Attr(key)
			require.NoError(t, err)
			assert.True(t, ok)
			assert.Equal(t, "early", value)
			_, ok, err = d.Attr(late)
			require.NoError(t, err)
			assert.False(t, ok)
		}
		value, _ := dup.Info().Get("a")
		assert.Equal(t, "early", value)
		_, ok := plain.Info().Get("a")
		assert.False(t, ok)
		assert.Equal(t, []any{"early"}, deleted)
	})
}

// TestFreedWithReceiveOfTheDead: a receive from AnySource learns of a failure although its
// communicator has been freed.
func TestFreedWithReceiveOfTheDead(t *testing.T) {
	freed := make(chan struct{})
	mpitest.Run(t, 2, mpitest.Options{Leave: true, TimeMax: 20 * time.Second}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		c, err := w.Dup()
		require.NoError(t, err)
		require.NoError(t, mpi.Barrier(w))
		if w.Rank() == 1 {
			<-freed
			dies(p)
			return
		}
		r, err := mpi.Irecv(c, []int{0}, mpi.AnySource, 0)
		require.NoError(t, err)
		require.NoError(t, c.Free())
		close(freed)
		_, err = r.Wait()
		assert.ErrorIs(t, err, mpi.ErrProcFailedPending)
		assert.NoError(t, p.Finalize(t.Context()))
	})
}

package mpi_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/attr"
	"github.com/viaduct-hpc/viaduct/mpi/info"
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
			c, err := w.Split(bg, color, 0)
			require.NoError(t, err)
			return c
		}
		a, b := pair(last), pair(1) // of ranks 0 and 1, of 0 and 2
		var dup *mpi.Comm
		for range 20 {
			switch w.Rank() {
			case first:
				made, r := a.Idup()
				dup = made
				for range 3 { // so that the goroutine of Idup runs first
					_, done, err := r.Test()
					require.NoError(t, err)
					require.False(t, done)
				}
				other, err := b.Dup(bg)
				require.NoError(t, err)
				require.NoError(t, other.Free())
				_, err = r.Wait(bg)
				require.NoError(t, err)
			case last:
				other, err := b.Dup(bg)
				require.NoError(t, err)
				require.NoError(t, other.Free())
				require.NoError(t, w.Send(bg, mpi.Slice([]int{}), 1, 0))
			default:
				_, err := w.Recv(bg, mpi.Slice([]int{}), last, 0)
				require.NoError(t, err)
				dup, err = a.Dup(bg)
				require.NoError(t, err)
			}
			if dup != nil {
				require.NoError(t, dup.Barrier(bg))
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
			c, err := w.Dup(bg)
			require.NoError(t, err)
			old := []int{-1}
			waits := c.Irecv(mpi.Slice(old), mpi.AnySource, mpi.AnyTag)
			require.NoError(t, c.Free())
			d, err := w.Dup(bg)
			require.NoError(t, err)
			sent := d.Isend(mpi.Slice([]int{w.Rank()}), 1-w.Rank(), 5)
			_, done, err := waits.Test()
			require.NoError(t, err)
			require.False(t, done)
			got := []int{-1}
			_, err = d.Recv(bg, mpi.Slice(got), 1-w.Rank(), 5)
			require.NoError(t, err)
			assert.Equal(t, 1-w.Rank(), got[0])
			_, err = sent.Wait(bg)
			require.NoError(t, err)
			require.NoError(t, waits.Cancel())
			st, err := waits.Wait(bg)
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
		key := attr.NewKeyval[*mpi.Comm](attr.KeepValue[*mpi.Comm], func(_ *mpi.Comm, _ *mpi.Keyval, value any) error {
			deleted = append(deleted, value)
			return nil
		})
		late := attr.NewKeyval[*mpi.Comm](attr.KeepValue[*mpi.Comm], nil)
		c, err := w.Dup(bg)
		require.NoError(t, err)
		require.NoError(t, c.SetAttr(key, "early"))
		hints, err := info.New("a", "early")
		require.NoError(t, err)
		if w.Rank() == 1 {
			_, err := w.Recv(bg, mpi.Slice([]int{}), 0, 0)
			require.NoError(t, err)
		}
		plain, r := c.Idup()
		require.NoError(t, c.SetInfo(hints))
		dup, s := c.Idup()
		require.NoError(t, hints.Set("a", "late"))
		require.NoError(t, c.SetInfo(hints))
		require.NoError(t, c.DeleteAttr(key))
		require.NoError(t, c.SetAttr(late, "late"))
		if w.Rank() == 0 {
			require.NoError(t, w.Send(bg, mpi.Slice([]int{}), 1, 0))
		}
		require.NoError(t, mpi.WaitAll(bg, r, s))
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
		c, err := w.Dup(bg)
		require.NoError(t, err)
		require.NoError(t, w.Barrier(bg))
		if w.Rank() == 1 {
			<-freed
			dies(p)
			return
		}
		r := c.Irecv(mpi.Slice([]int{0}), mpi.AnySource, 0)
		require.NoError(t, c.Free())
		close(freed)
		_, err = r.Wait(bg)
		assert.ErrorIs(t, err, mpi.ErrProcFailedPending)
		assert.NoError(t, p.Finalize(t.Context()))
	})
}

// TestIdupTooEarly: the communicator of an Idup cannot be used before it is complete.
func TestIdupTooEarly(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, x := p.World(), mpi.Value(new(int))
		hints, err := info.New("a", "b")
		require.NoError(t, err)
		require.NoError(t, w.SetInfo(hints))
		if w.Rank() == 1 {
			_, err := w.Recv(bg, x, 0, 0)
			require.NoError(t, err)
			talked(t, w)
			return
		}
		dup, r := w.Idup()
		for name, call := range map[string]func() error{
			"Send":    func() error { return dup.Send(bg, x, 0, 0) },
			"Recv":    func() error { return status(dup.Recv(bg, x, 0, 0)) },
			"Isend":   func() error { return status(dup.Isend(x, 0, 0).Wait(bg)) },
			"Irecv":   func() error { return status(dup.Irecv(x, 0, 0, mpi.Persistent).Wait(bg)) },
			"Probe":   func() error { return status(dup.Probe(bg, 0, 0)) },
			"Barrier": func() error { return dup.Barrier(bg) },
			"Ibcast":  func() error { return status(dup.Ibcast(x, 0).Wait(bg)) },
			"Scan":    func() error { return dup.Scan(bg, x, x, mpi.Sum) },
			"Dup":     func() error { _, err := dup.Dup(bg); return err },
			"Idup":    func() error { _, r := dup.Idup(); return status(r.Wait(bg)) },
			"Split":   func() error { _, err := dup.Split(bg, 0, 0); return err },
			"Cart":    func() error { _, err := dup.Cart(); return err },
			"SetName": func() error { return dup.SetName("early") },
			"Revoke":  func() error { return dup.Revoke() },
			"Free":    func() error { return dup.Free() },
		} {
			err := call()
			require.ErrorIs(t, err, mpi.ErrComm, name)
			require.ErrorContains(t, err, "not made yet", name)
		}
		require.NoError(t, w.Send(bg, x, 1, 0))
		for { // until it can be used
			err := dup.Send(bg, x, mpi.ProcNull, 0)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, mpi.ErrComm)
			runtime.Gosched()
		}
		value, _ := dup.Info().Get("a")
		assert.Equal(t, "b", value, "then it is complete")
		_, err = r.Wait(bg)
		require.NoError(t, err)
		talk(t, dup)
		require.NoError(t, dup.Free())
	})
}

// talked makes the duplicate of a communicator together with TestIdupTooEarly.
func talked(t *testing.T, w *mpi.Comm) {
	t.Helper()
	dup, r := w.Idup()
	_, err := r.Wait(bg)
	require.NoError(t, err)
	talk(t, dup)
	require.NoError(t, dup.Free())
}

// TestIdupFails: a communicator whose Idup failed is never made.
func TestIdupFails(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		c, err := p.World().Dup(bg)
		require.NoError(t, err)
		require.NoError(t, c.Free())
		for _, c := range []*mpi.Comm{c, nil} {
			dup, r := c.Idup()
			_, err := r.Wait(bg)
			require.ErrorIs(t, err, mpi.ErrComm)
			require.ErrorIs(t, dup.Barrier(bg), mpi.ErrComm)
			_, err = dup.Isend(mpi.Slice([]int{1}), 0, 0).Wait(bg)
			require.ErrorIs(t, err, mpi.ErrComm)
		}
	})
}

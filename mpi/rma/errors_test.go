package rma_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/attr"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/info"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// TestBadOperations: each mistake ends the request with its class, and so does the end of the epoch;
// the window works afterwards.
func TestBadOperations(t *testing.T) {
	own, err := mpi.NewOp(func(_, _ []int64) {}, true)
	require.NoError(t, err)
	mixed, err := datatype.Of[struct {
		A int32
		B float32
	}]()
	require.NoError(t, err)
	x, y := int64(1), float64(2)
	one, real := mpi.Value(&x), mpi.Value(&y)
	for _, c := range []struct {
		name string
		is   mpi.ErrorClass
		do   func(w *rma.Win) mpi.Request
	}{
		{"rank", mpi.ErrRank, func(w *rma.Win) mpi.Request { return w.Put(one, rma.At(2, 0)) }},
		{"negative rank", mpi.ErrRank, func(w *rma.Win) mpi.Request { return w.Get(one, rma.At(-1, 0)) }},
		{"displacement", mpi.ErrDisp, func(w *rma.Win) mpi.Request { return w.Put(one, rma.At(1, -1)) }},
		{"range", mpi.ErrRMARange, func(w *rma.Win) mpi.Request { return w.Put(one, rma.At(1, 4)) }},
		{"overflow", mpi.ErrRMARange, func(w *rma.Win) mpi.Request { return w.Put(one, rma.At(1, math.MaxInt)) }},
		{"overflow by the unit", mpi.ErrRMARange, func(w *rma.Win) mpi.Request { return w.Put(one, rma.At(1, math.MaxInt/8)) }},
		{"typed range", mpi.ErrRMARange, func(w *rma.Win) mpi.Request { return w.Put(one, rma.At(1, 3).Typed(math.MaxInt, datatype.Int64)) }},
		{"count", mpi.ErrCount, func(w *rma.Win) mpi.Request { return w.Put(one, rma.At(1, 0).Typed(-1, datatype.Int64)) }},
		{"no type", mpi.ErrType, func(w *rma.Win) mpi.Request { return w.Put(one, rma.At(1, 0).Typed(1, nil)) }},
		{"other size", mpi.ErrType, func(w *rma.Win) mpi.Request { return w.Put(one, rma.At(1, 0).Typed(1, datatype.Int32)) }},
		{"other type", mpi.ErrType, func(w *rma.Win) mpi.Request {
			return w.Accumulate(one, rma.At(1, 0).Typed(1, datatype.Float64), mpi.Sum)
		}},
		{"mixed type", mpi.ErrType, func(w *rma.Win) mpi.Request {
			return w.Accumulate(one, rma.At(1, 0).Typed(1, mixed), mpi.Sum)
		}},
		{"no memory", mpi.ErrBuffer, func(w *rma.Win) mpi.Request { return w.Put(mpi.InPlace, rma.At(1, 0)) }},
		{"no element type", mpi.ErrType, func(w *rma.Win) mpi.Request { return w.Get(mpi.Slice([]string{""}), rma.At(1, 0)) }},
		{"operator", mpi.ErrOp, func(w *rma.Win) mpi.Request { return w.Accumulate(one, rma.At(1, 0), own) }},
		{"no operator", mpi.ErrOp, func(w *rma.Win) mpi.Request { return w.GetAccumulate(one, one, rma.At(1, 0), nil) }},
		{"operator of another type", mpi.ErrOp, func(w *rma.Win) mpi.Request { return w.FetchAndOp(real, real, rma.At(1, 0), mpi.BAnd) }},
		{"several", mpi.ErrCount, func(w *rma.Win) mpi.Request {
			return w.FetchAndOp(mpi.Slice([]int64{1, 2}), mpi.Slice([]int64{1, 2}), rma.At(1, 0), mpi.Sum)
		}},
		{"several swaps", mpi.ErrCount, func(w *rma.Win) mpi.Request {
			return w.CompareAndSwap(mpi.Slice([]int64{1, 2}), one, one, rma.At(1, 0))
		}},
		{"swap of a real", mpi.ErrType, func(w *rma.Win) mpi.Request { return w.CompareAndSwap(real, real, real, rma.At(1, 0)) }},
		{"swap of two types", mpi.ErrType, func(w *rma.Win) mpi.Request { return w.CompareAndSwap(one, real, one, rma.At(1, 0)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, at := range []place{places[0], places[1]} {
				at.run(t, 2, func(t *testing.T, p *mpi.Process) {
					w, mine := allocated(t, p.World(), 4)
					var seen []error
					require.NoError(t, w.SetErrorHandler(func(of *rma.Win, err error) {
						assert.Same(t, w, of)
						seen = append(seen, err)
					}))
					require.NoError(t, w.LockAll(bg))
					require.ErrorIs(t, waited(c.do(w)), c.is)
					require.ErrorIs(t, w.FlushAll(bg), c.is)
					assert.Len(t, seen, 2, "the call and the flush")
					three := int64(3)
					w.Put(mpi.Value(&three), rma.At(1-p.World().Rank(), 3))
					require.NoError(t, w.UnlockAll(bg))
					require.NoError(t, w.Free(bg))
					_ = mine
				})
			}
		})
	}
}

// TestBadSynchronisation: calls that no epoch allows, and bad arguments of others.
func TestBadSynchronisation(t *testing.T) {
	places[0].run(t, 2, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		w, _ := allocated(t, c, 4)
		x := int64(1)
		require.ErrorIs(t, waited(w.Put(mpi.Value(&x), rma.At(0, 0))), mpi.ErrRMASync)
		require.ErrorIs(t, w.Flush(bg, 0), mpi.ErrRMASync)
		require.ErrorIs(t, w.FlushLocalAll(bg), mpi.ErrRMASync)
		require.ErrorIs(t, w.Flush(bg, 2), mpi.ErrRank)
		require.ErrorIs(t, w.Unlock(bg, 0), mpi.ErrRMASync)
		require.ErrorIs(t, w.UnlockAll(bg), mpi.ErrRMASync)
		require.ErrorIs(t, w.Complete(bg), mpi.ErrRMASync)
		require.ErrorIs(t, w.Wait(bg), mpi.ErrRMASync)
		_, err := w.Test()
		require.ErrorIs(t, err, mpi.ErrRMASync)
		require.ErrorIs(t, w.Lock(bg, 0, 0), mpi.ErrLocktype)
		require.ErrorIs(t, w.Lock(bg, rma.LockShared, 5), mpi.ErrRank)
		require.ErrorIs(t, w.Lock(bg, rma.LockShared, 0, rma.NoPrecede), mpi.ErrAssert)
		require.ErrorIs(t, w.LockAll(bg, rma.NoStore), mpi.ErrAssert)
		require.ErrorIs(t, w.Fence(bg, rma.NoCheck), mpi.ErrAssert)
		require.ErrorIs(t, w.Post(nil), mpi.ErrGroup)
		require.ErrorIs(t, w.Start(bg, w.Group(), rma.NoPut), mpi.ErrAssert)
		require.NoError(t, w.Lock(bg, rma.LockShared, 0))
		require.ErrorIs(t, w.Lock(bg, rma.LockShared, 0), mpi.ErrRMASync)
		require.ErrorIs(t, w.LockAll(bg), mpi.ErrRMASync)
		require.ErrorIs(t, w.Fence(bg), mpi.ErrRMASync)
		require.ErrorIs(t, w.Start(bg, w.Group()), mpi.ErrRMASync)
		require.ErrorIs(t, w.Free(bg), mpi.ErrRMASync)
		require.ErrorIs(t, w.Unlock(bg, 0), mpi.ErrRMASync, "of the put at the beginning")
		_, err = w.Attach(mpi.Value(&x))
		require.ErrorIs(t, err, mpi.ErrRMAFlavor)
		require.NoError(t, waited(w.Put(mpi.Value(&x), rma.At(mpi.ProcNull, 0))))
		require.NoError(t, w.Free(bg))

		require.ErrorIs(t, w.Fence(bg), mpi.ErrWin)
		require.ErrorIs(t, w.Free(bg), mpi.ErrWin)
		require.ErrorIs(t, waited(w.Put(mpi.Value(&x), rma.At(0, 0))), mpi.ErrWin)
		require.ErrorIs(t, w.SetName("x"), mpi.ErrWin)
		var none *rma.Win
		require.ErrorIs(t, none.Fence(bg), mpi.ErrWin)
		require.ErrorIs(t, waited(none.Get(mpi.Value(&x), rma.At(0, 0))), mpi.ErrWin)
		assert.Nil(t, none.Memory())
		assert.Nil(t, none.Group())
		assert.Equal(t, "MPI_WIN_NULL", none.Name())
	})
}

// TestBadWindows: a mistake of one process is an error in all.
func TestBadWindows(t *testing.T) {
	places[0].run(t, 2, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		if c.Rank() == 0 {
			_, err := rma.Allocate(bg, c, -1, 1, nil)
			require.ErrorIs(t, err, mpi.ErrSize)
		} else {
			_, err := rma.Allocate(bg, c, 8, 1, nil)
			require.ErrorIs(t, err, mpi.ErrSize)
		}
		_, err := rma.Allocate(bg, c, 8, -1, nil)
		require.ErrorIs(t, err, mpi.ErrDisp)
		_, err = rma.Create(bg, c, mpi.InPlace, 1, nil)
		require.ErrorIs(t, err, mpi.ErrBuffer)
		column, err := datatype.Resized(datatype.Int32, 4, 8)
		require.NoError(t, err)
		_, err = rma.Create(bg, c, mpi.Typed(make([]int32, 8), 0, 2, column), 1, nil)
		require.ErrorIs(t, err, mpi.ErrBase)
		same, err := info.New("same_size", "true")
		require.NoError(t, err)
		_, err = rma.Allocate(bg, c, 8*c.Rank(), 1, same)
		require.ErrorIs(t, err, mpi.ErrSize)
		bad, err := info.New("accumulate_ordering", "sometimes")
		require.NoError(t, err)
		_, err = rma.Allocate(bg, c, 8, 1, bad)
		require.ErrorIs(t, err, mpi.ErrInfoValue)
		_, err = rma.CreateDynamic(bg, nil, nil)
		require.ErrorIs(t, err, mpi.ErrComm)
	})
}

// TestDescriptions: a window's name, group, hints, attributes and description.
func TestDescriptions(t *testing.T) {
	places[0].run(t, 2, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		hints, err := info.New("no_locks", "true", "accumulate_ops", "same_op", "unknown", "x")
		require.NoError(t, err)
		w, err := rma.Allocate(bg, c, 24, 8, hints)
		require.NoError(t, err)
		require.ErrorIs(t, w.LockAll(bg), mpi.ErrRMASync)
		require.ErrorIs(t, w.Lock(bg, rma.LockShared, 0), mpi.ErrRMASync)
		value, ok := w.Info().Get("no_locks")
		assert.True(t, ok)
		assert.Equal(t, "true", value)
		value, _ = w.Info().Get("accumulate_ops")
		assert.Equal(t, "same_op", value)
		require.NoError(t, w.SetInfo(new(info.Info)))
		value, _ = w.Info().Get("no_locks")
		assert.Equal(t, "true", value, "it cannot change")
		value, _ = w.Info().Get("accumulate_ops")
		assert.Equal(t, "same_op_no_op", value)

		assert.Len(t, w.Memory(), 24)
		assert.Equal(t, 8, w.DispUnit())
		assert.Equal(t, rma.Allocated, w.Flavor())
		assert.Equal(t, rma.Unified, w.Model())
		assert.Equal(t, c.Group().Members(), w.Group().Members())
		require.NoError(t, w.SetName("halo"))
		assert.Equal(t, "halo", w.Name())
		require.ErrorIs(t, w.SetName(string(make([]byte, 129))), mpi.ErrArg)

		var deleted []any
		key := attr.NewKeyval(nil, func(_ *rma.Win, _ *rma.Keyval, value any) error {
			deleted = append(deleted, value)
			return nil
		})
		require.NoError(t, w.SetAttr(key, 1))
		got, ok, err := w.Attr(key)
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, 1, got)
		require.NoError(t, w.DeleteAttr(key))
		require.NoError(t, w.SetAttr(key, 2))
		require.NoError(t, w.SetErrorHandler(func(*rma.Win, error) { deleted = append(deleted, "handled") }))
		w.ErrorHandler()(w, mpi.ErrOther)
		require.NoError(t, w.SetErrorHandler(nil))
		require.NoError(t, w.Free(bg))
		assert.Equal(t, []any{1, "handled", 2}, deleted)
	})
}

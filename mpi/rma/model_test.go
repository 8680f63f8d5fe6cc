package rma_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// A window is the part of *rma.Win that programs use. Flawed ones show that the oracle sees flaws.
type window interface {
	Put(b mpi.Buffer, to rma.Target) mpi.Request
	Get(b mpi.Buffer, from rma.Target) mpi.Request
	Accumulate(b mpi.Buffer, to rma.Target, op *mpi.Op) mpi.Request
	FetchAndOp(b, result mpi.Buffer, to rma.Target, op *mpi.Op) mpi.Request
	CompareAndSwap(next, expect, result mpi.Buffer, to rma.Target) mpi.Request
	Lock(ctx context.Context, how rma.LockType, rank int, a ...rma.Assert) error
	Unlock(ctx context.Context, rank int) error
	LockAll(ctx context.Context, a ...rma.Assert) error
	UnlockAll(ctx context.Context) error
	Flush(ctx context.Context, rank int) error
	FlushLocal(ctx context.Context, rank int) error
	Fence(ctx context.Context, a ...rma.Assert) error
	Post(g *mpi.Group, a ...rma.Assert) error
	Start(ctx context.Context, g *mpi.Group, a ...rma.Assert) error
	Complete(ctx context.Context) error
	Wait(ctx context.Context) error
}

// programsPerRun is how many programs each run plays in each place.
const programsPerRun = 150

// TestModel plays random programs and compares their outcome with what the standard allows.
func TestModel(t *testing.T) {
	programs := uint64(programsPerRun)
	if testing.Short() {
		programs /= 10
	}
	for _, at := range append(places, farther) {
		t.Run("over="+at.name, func(t *testing.T) {
			for seed := range programs {
				p := generate(seed)
				o := play(t, at, &p, func(w *rma.Win) window { return w })
				require.NoError(t, o.check(&p))
			}
		})
	}
}

// play runs a program.
func play(t *testing.T, at place, p *program, as func(w *rma.Win) window) *outcome {
	o := newOutcome(p)
	at.run(t, p.ranks, func(t *testing.T, proc *mpi.Process) {
		c := proc.World()
		var win *rma.Win
		var err error
		if p.seed%3 == 0 {
			win, err = rma.Create(bg, c, mpi.Slice(make([]byte, partBytes(p.ranks))), 1, nil)
		} else {
			win, err = allocate(c, partBytes(p.ranks), 1)
		}
		require.NoError(t, err)
		pl := &player{t: t, c: c, w: as(win), o: o}
		for i := range p.phases {
			pl.play(&p.phases[i], i)
			require.NoError(t, c.Barrier(bg))
			require.NoError(t, win.Sync())
			o.parts[i][c.Rank()] = bytes.Clone(win.Memory())
			require.NoError(t, c.Barrier(bg))
		}
		require.NoError(t, win.Free(bg))
	})
	return o
}

// A player is one rank of a program.
type player struct {
	t *testing.T
	c *mpi.Comm
	w window
	o *outcome
}

// play plays a phase.
func (pl *player) play(ph *phase, i int) {
	switch ph.by {
	case byFence:
		require.NoError(pl.t, pl.w.Fence(bg))
	case byPost:
		require.NoError(pl.t, pl.w.Post(pl.c.Group()))
		require.NoError(pl.t, pl.w.Start(bg, pl.c.Group()))
	case byLockAll:
		require.NoError(pl.t, pl.w.LockAll(bg))
	}
	for k := range ph.ops {
		if ph.ops[k].origin == pl.c.Rank() {
			pl.do(ph, &ph.ops[k], &pl.o.old[i][k], &pl.o.area[i][k])
		}
	}
	switch ph.by {
	case byFence:
		require.NoError(pl.t, pl.w.Fence(bg, rma.NoSucceed))
	case byPost:
		require.NoError(pl.t, pl.w.Complete(bg))
		require.NoError(pl.t, pl.w.Wait(bg))
	case byLockAll:
		require.NoError(pl.t, pl.w.UnlockAll(bg))
	}
}

// do does an operation.
func (pl *player) do(ph *phase, o *op, old *int64, area *[]byte) {
	if ph.by == byLock {
		how := rma.LockShared
		if o.use == useCount {
			how = rma.LockExclusive
		}
		require.NoError(pl.t, pl.w.Lock(bg, how, o.target))
		defer func() { require.NoError(pl.t, pl.w.Unlock(bg, o.target)) }()
	}
	if o.wait == 3 && (ph.by == byLock || ph.by == byLockAll) {
		pl.doLocally(o, old, area)
		return
	}
	r := pl.begin(o, o.value, old, area)
	switch {
	case o.wait == 1:
		_, err := r.Wait(bg)
		require.NoError(pl.t, err)
	case o.wait == 2 && (ph.by == byLock || ph.by == byLockAll):
		require.NoError(pl.t, pl.w.Flush(bg, o.target))
	}
}

// doLocally does an operation and completes it locally: results are there, and other memory may be
// changed.
func (pl *player) doLocally(o *op, old *int64, area *[]byte) {
	value, result := o.value, int64(0)
	pl.beginAt(o, &value, &result, area)
	require.NoError(pl.t, pl.w.FlushLocal(bg, o.target))
	value, *old = -1, result
	sent := *area
	if *area = bytes.Clone(sent); o.use == usePutArea {
		clear(sent)
	}
}

// begin begins an operation.
func (pl *player) begin(o *op, value int64, old *int64, area *[]byte) mpi.Request {
	return pl.beginAt(o, &value, old, area)
}

// beginAt begins an operation with a number.
func (pl *player) beginAt(o *op, value, old *int64, area *[]byte) mpi.Request {
	at := rma.At(o.target, 8*o.cell)
	switch o.use {
	case useGet:
		return pl.w.Get(mpi.Value(old), at)
	case usePut:
		return pl.w.Put(mpi.Value(value), at)
	case useAdd:
		return pl.w.Accumulate(mpi.Value(value), at, mpi.Sum)
	case useFetch:
		return pl.w.FetchAndOp(mpi.Value(value), mpi.Value(old), at, mpi.Sum)
	case useSwap:
		expect := swapExpects
		return pl.w.CompareAndSwap(mpi.Value(value), mpi.Value(&expect), mpi.Value(old), at)
	case useReplace:
		second := -*value
		pl.w.Accumulate(mpi.Value(value), at, mpi.Replace)
		return pl.w.Accumulate(mpi.Value(&second), at, mpi.Replace)
	case useSmall:
		return pl.w.Accumulate(mpi.Slice([]int16{int16(*value), -int16(*value)}), at, mpi.Sum)
	case useCount:
		x := int64(0)
		pl.w.Get(mpi.Value(&x), at)
		require.NoError(pl.t, pl.w.Flush(bg, o.target))
		x++
		return pl.w.Put(mpi.Value(&x), at)
	}
	area1 := rma.At(o.target, o.place()+o.at).Typed(1, o.layout())
	*area = make([]byte, o.n)
	if o.use == useGetArea {
		return pl.w.Get(mpi.Slice(*area), area1)
	}
	for i := range *area {
		(*area)[i] = o.byteOf(i)
	}
	return pl.w.Put(mpi.Slice(*area), area1)
}

// TestTheOracleSeesFlaws: windows with one flaw each are found out.
func TestTheOracleSeesFlaws(t *testing.T) {
	for name, flawed := range flaws {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(programsPerRun) {
				p := generate(seed)
				if err := play(t, place{"", "mem", 64}, &p, flawed).check(&p); err != nil {
					t.Log("found:", err)
					return
				}
			}
			assert.Fail(t, fmt.Sprintf("%d programs do not show it", programsPerRun))
		})
	}
}

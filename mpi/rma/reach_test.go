package rma_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// counting counts the accesses of a reacher.
type counting struct {
	rma.Reacher
	writes, reads, bytes *atomic.Int64
}

func (c counting) Write(off uint64, from []byte) error {
	c.writes.Add(1)
	c.bytes.Add(int64(len(from)))
	return c.Reacher.Write(off, from)
}

func (c counting) Read(off uint64, to []byte) error {
	c.reads.Add(1)
	c.bytes.Add(int64(len(to)))
	return c.Reacher.Read(off, to)
}

// count counts all accesses to exposed memory.
func count(t *testing.T) (c counting) {
	c = counting{writes: new(atomic.Int64), reads: new(atomic.Int64), bytes: new(atomic.Int64)}
	t.Cleanup(rma.HookReacher(func(r rma.Reacher) rma.Reacher {
		one := c
		one.Reacher = r
		return one
	}))
	return c
}

// TestReach: after the first operation at a rank, puts and gets of memory of the program go without
// messages: contiguous ones, and those of types with long runs at the target, or any at the origin.
func TestReach(t *testing.T) {
	const n = 300_000
	c := count(t)
	reaching.run(t, 2, func(t *testing.T, p *mpi.Process) {
		w, err := allocate(p.World(), n, 1)
		require.NoError(t, err)
		require.NoError(t, w.LockAll(bg))
		if p.World().Rank() == 0 {
			r := w.Put(mpi.Slice([]byte{1}), rma.At(1, n-1))
			require.NoError(t, w.Flush(bg, 1))
			_, err := r.Wait(bg)
			require.NoError(t, err)
			require.Equal(t, 1, rma.Known(w, 1))
			require.Zero(t, c.writes.Load(), "the first put was a call")

			whole := make([]byte, n)
			for i := range whole {
				whole[i] = byte(i * 7)
			}
			w.Put(mpi.Slice(whole), rma.At(1, 0))
			pending, _ := rma.Pending(w, 1)
			require.Zero(t, pending)
			got := make([]byte, n)
			w.Get(mpi.Slice(got), rma.At(1, 0))
			require.Equal(t, whole, got)
			require.EqualValues(t, 1, c.writes.Load())
			require.EqualValues(t, 1, c.reads.Load())

			rows, err := datatype.Vector(10, 1000, 2000, datatype.Byte)
			require.NoError(t, err)
			w.Get(mpi.Slice(got[:10_000]), rma.At(1, 3).Typed(1, rows))
			require.EqualValues(t, 11, c.reads.Load())
			for i := range 10_000 {
				require.Equal(t, whole[3+i/1000*2000+i%1000], got[i])
			}
			w.Put(mpi.Typed(whole, 5, 1, rows), rma.At(1, 0))
			require.Positive(t, c.writes.Load()-1)
			w.Get(mpi.Typed(got, 5, 1, rows), rma.At(1, 0))
			for i := range 10_000 {
				at := 5 + i/1000*2000 + i%1000
				require.Equal(t, whole[at], got[at])
			}

			before := c.reads.Load()
			column, err := datatype.Vector(1000, 1, 8, datatype.Byte)
			require.NoError(t, err)
			w.Get(mpi.Slice(got[:1000]), rma.At(1, 100_000).Typed(1, column))
			require.NoError(t, w.Flush(bg, 1))
			require.Equal(t, before, c.reads.Load(), "short runs go by calls")
			require.Equal(t, whole[100_000+8*999], got[999])
		}
		require.NoError(t, w.UnlockAll(bg))
		require.NoError(t, w.Free(bg))
	})
}

// TestReachOtherPlaces: if the method has no remote access, a process requests a key only once.
func TestReachOtherPlaces(t *testing.T) {
	place{"", "tcp", 64}.run(t, 2, func(t *testing.T, p *mpi.Process) {
		w, _ := allocated(t, p.World(), 1)
		require.NoError(t, w.LockAll(bg))
		for range 3 {
			w.Put(mpi.Value(new(int64)), rma.At(1-p.World().Rank(), 0))
			require.NoError(t, w.FlushAll(bg))
		}
		require.Zero(t, rma.Known(w, 1-p.World().Rank()))
		require.Zero(t, rma.Exposed(w, 1-p.World().Rank()))
		require.NoError(t, w.UnlockAll(bg))
		require.NoError(t, w.Free(bg))
	})
}

// TestDetachRevokes: memory that was detached cannot be reached, until it is attached again.
func TestDetachRevokes(t *testing.T) {
	c := count(t)
	reaching.run(t, 2, func(t *testing.T, p *mpi.Process) {
		world := p.World()
		w, err := rma.CreateDynamic(bg, world, nil)
		require.NoError(t, err)
		mem := make([]byte, 64)
		at := 0
		attach := func() {
			if world.Rank() == 1 {
				at, err = w.Attach(mpi.Slice(mem))
				require.NoError(t, err)
			}
			require.NoError(t, world.Bcast(bg, mpi.Value(&at), 1))
		}
		put := func(x byte) error {
			w.Put(mpi.Slice([]byte{x, x}), rma.At(1, at+8))
			return w.Flush(bg, 1)
		}
		attach()
		require.NoError(t, w.LockAll(bg))
		if world.Rank() == 0 {
			require.NoError(t, put(1))
			require.NoError(t, put(2))
			require.EqualValues(t, 1, c.writes.Load())
		}
		require.NoError(t, world.Barrier(bg))
		if world.Rank() == 1 {
			require.Equal(t, byte(2), mem[8])
			require.Equal(t, 1, rma.Exposed(w, 0))
			require.NoError(t, w.Detach(mpi.Slice(mem)))
			require.Zero(t, rma.Exposed(w, 0))
		}
		require.NoError(t, world.Barrier(bg))
		if world.Rank() == 0 {
			require.ErrorIs(t, put(3), mpi.ErrRMARange)
			require.EqualValues(t, 2, c.writes.Load(), "the key was tried")
			require.Zero(t, rma.Known(w, 1))
		}
		require.NoError(t, world.Barrier(bg))
		require.NotContains(t, mem, byte(3))
		attach()
		if world.Rank() == 0 {
			require.NoError(t, put(4)) // done by a call; requests a key again
			require.NoError(t, put(5))
			require.EqualValues(t, 3, c.writes.Load())
		}
		require.NoError(t, world.Barrier(bg))
		require.NoError(t, w.Sync())
		if world.Rank() == 1 {
			require.Equal(t, byte(5), mem[9])
		}
		require.NoError(t, w.UnlockAll(bg))
		require.NoError(t, w.Free(bg))
	})
}

// TestFreeRevokes: the memory of a window that was freed cannot be reached with its key.
func TestFreeRevokes(t *testing.T) {
	var kept rma.Reacher
	t.Cleanup(rma.HookReacher(func(r rma.Reacher) rma.Reacher {
		kept = r
		return r
	}))
	reaching.run(t, 2, func(t *testing.T, p *mpi.Process) {
		mem := make([]byte, 64)
		w, err := rma.Create(bg, p.World(), mpi.Slice(mem), 1, nil)
		require.NoError(t, err)
		require.NoError(t, w.LockAll(bg))
		if p.World().Rank() == 0 {
			for range 2 {
				w.Put(mpi.Slice([]byte{1}), rma.At(1, 0))
				require.NoError(t, w.Flush(bg, 1))
			}
			require.NoError(t, kept.Write(63, []byte{2}))
			require.Error(t, kept.Write(63, []byte{3, 3}), "beyond the end")
			require.Error(t, kept.Write(^uint64(0), []byte{3}), "before the beginning")
			require.Error(t, kept.Read(64, []byte{3}), "behind the end")
		}
		require.NoError(t, w.UnlockAll(bg))
		require.NoError(t, w.Free(bg))
		require.NoError(t, p.World().Barrier(bg)) // now both have freed it
		if p.World().Rank() == 0 {
			require.Error(t, kept.Write(0, []byte{4}))
			require.Error(t, kept.Read(0, make([]byte, 1)))
		}
		require.NoError(t, p.World().Barrier(bg))
		if p.World().Rank() == 1 {
			assert.Equal(t, []byte{1, 2}, []byte{mem[0], mem[63]})
		}
	})
}

// A flawedReacher does one thing wrong.
type flawedReacher struct {
	rma.Reacher
	write func(r rma.Reacher, off uint64, from []byte) error
	read  func(r rma.Reacher, off uint64, to []byte) error
}

func (f flawedReacher) Write(off uint64, from []byte) error {
	if f.write != nil {
		return f.write(f.Reacher, off, from)
	}
	return f.Reacher.Write(off, from)
}

func (f flawedReacher) Read(off uint64, to []byte) error {
	if f.read != nil {
		return f.read(f.Reacher, off, to)
	}
	return f.Reacher.Read(off, to)
}

// TestTheOracleSeesFlawedReachers: flaws of the way by RDMA are found out.
func TestTheOracleSeesFlawedReachers(t *testing.T) {
	for name, flaw := range map[string]flawedReacher{
		"writes are forgotten":     {write: func(rma.Reacher, uint64, []byte) error { return nil }},
		"reads are forgotten":      {read: func(rma.Reacher, uint64, []byte) error { return nil }},
		"writes lose the last one": {write: func(r rma.Reacher, off uint64, from []byte) error { return r.Write(off, from[:len(from)-1]) }},
		"reads come from elsewhere": {read: func(r rma.Reacher, off uint64, to []byte) error {
			if off > 0 {
				off--
			}
			return r.Read(off, to)
		}},
		"writes go elsewhere": {write: func(r rma.Reacher, off uint64, from []byte) error {
			if off > 8 {
				off -= 8
			}
			return r.Write(off, from)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			defer rma.HookReacher(func(r rma.Reacher) rma.Reacher {
				f := flaw
				f.Reacher = r
				return f
			})()
			for seed := range uint64(programsPerRun) {
				p := generate(seed)
				if err := play(t, reaching, &p, func(w *rma.Win) window { return w }).check(&p); err != nil {
					t.Log("found:", err)
					return
				}
			}
			assert.Fail(t, "no program shows it")
		})
	}
}

package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/filetest"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// The computation of these tests: cells on a ring, each of which becomes a mixture of itself and its
// neighbours.
const (
	cells     = 37
	lastStep  = 40
	saveEvery = 6
)

func firstCells() []uint64 {
	xs := make([]uint64, cells)
	for i := range xs {
		xs[i] = uint64(i * i)
	}
	return xs
}

// mix computes the cells of a step from those of the step before. The first and the last cell of old
// belong to the neighbours.
func mix(old []uint64) []uint64 {
	xs := make([]uint64, len(old)-2)
	for i := range xs {
		xs[i] = 3*old[i] + 5*old[i+1] + 7*old[i+2] + 1
	}
	return xs
}

func serial() []uint64 {
	xs := firstCells()
	for range lastStep {
		xs = mix(append(append([]uint64{xs[cells-1]}, xs...), xs[0]))
	}
	return xs
}

// A ring is the computation on one process, which may be killed.
type ring struct {
	dir  string
	rank int
	iter func(rank int) // called before each step
	xs   []uint64       // all cells, in the end
}

// run computes on the processes of a communicator.
func (g *ring) run(ctx context.Context, c *mpi.Comm) error {
	s, err := checkpoint.Open(ctx, c, g.dir, checkpoint.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(ctx) }()
	n, me := c.Size(), c.Rank()
	first, end := cells*me/n, cells*(me+1)/n
	mine := append([]uint64(nil), firstCells()[first:end]...)
	item := func() checkpoint.Item {
		return checkpoint.Block("cells", mpi.Slice(mine), []int{cells}, []int{first}, []int{len(mine)})
	}
	from, err := s.Restore(ctx, item())
	if err != nil && !errors.Is(err, checkpoint.ErrNone) {
		return err
	}
	for step := from.Step + 1; step <= lastStep; step++ {
		g.iter(g.rank)
		wide := append(append(make([]uint64, 1), mine...), 0)
		left, right := (me+n-1)%n, (me+1)%n
		if _, err := c.Sendrecv(ctx, mpi.Value(&mine[0]), left, 1, mpi.Value(&wide[len(wide)-1]), right, 1); err != nil {
			return err
		}
		if _, err := c.Sendrecv(ctx, mpi.Value(&mine[len(mine)-1]), right, 2, mpi.Value(&wide[0]), left, 2); err != nil {
			return err
		}
		mine = mix(wide)
		if step%saveEvery == 0 {
			if err := s.Save(ctx, step, item()); err != nil {
				return err
			}
		}
	}
	counts := make([]int, n)
	for i := range counts {
		counts[i] = cells*(i+1)/n - cells*i/n
	}
	g.xs = make([]uint64, cells)
	return c.Allgather(ctx, mpi.Slice(mine), mpi.Slice(g.xs).Parts(counts, nil))
}

// A fate says when ranks are killed: before so many steps of the storage on a rank's account, or before
// so many steps of the computation.
type fate struct {
	storage, compute []int64 // by rank; -1: never
	done             [2][]atomic.Int64
}

func newFate(r *rand.Rand, n, victims int) *fate {
	f := &fate{}
	for range n {
		f.storage, f.compute = append(f.storage, -1), append(f.compute, -1)
	}
	for _, rank := range r.Perm(n)[:victims] {
		if r.IntN(3) > 0 {
			f.storage[rank] = int64(r.IntN(60))
		} else {
			f.compute[rank] = int64(r.IntN(lastStep))
		}
	}
	f.done[0], f.done[1] = make([]atomic.Int64, n), make([]atomic.Int64, n)
	return f
}

// TestSurvive: ranks are killed before any step of the storage or of the computation. The others go on,
// and get the result of one process.
func TestSurvive(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	want := serial()
	mpitest.Over(t, []string{"mem", "via+shm", "tcp"}, func(t *testing.T, o mpitest.Options) {
		o.Leave = true
		sim.RunAtMost(t, 2, func(t *testing.T, seed uint64) {
			killed := 0
			for round := range rounds {
				r := rand.New(rand.NewPCG(seed, uint64(round)))
				n := 2 + r.IntN(5)
				f := newFate(r, n, 1+r.IntN(n-1))
				fs := filetest.New(t)
				fs.TwoNames = r.IntN(2) == 0
				procs := make([]atomic.Pointer[mpi.Process], n)
				dead := make([]atomic.Bool, n)
				kill := func(rank int) {
					if p := procs[rank].Load(); p != nil && !dead[rank].Swap(true) {
						mpitest.Kill(p)
					}
				}
				fs.Set(func(s filetest.Step) error {
					rank, ok := s.Who.(int)
					if !ok {
						return nil
					}
					if f.done[0][rank].Add(1)-1 == f.storage[rank] {
						kill(rank)
					}
					if dead[rank].Load() {
						return errors.New("the process is dead")
					}
					return nil
				})
				var survivors atomic.Int64
				mpitest.Run(t, n, o, func(t *testing.T, p *mpi.Process) {
					rank := p.World().Rank()
					procs[rank].Store(p)
					g := &ring{dir: fs.Name(), rank: rank, iter: func(rank int) {
						if f.done[1][rank].Add(1)-1 == f.compute[rank] {
							kill(rank)
						}
					}}
					err := checkpoint.Survive(filetest.As(bg, rank), p.World(), g.run)
					if !dead[rank].Load() {
						require.NoError(t, err, "round %d, rank %d", round, rank)
						require.Equal(t, want, g.xs, "round %d, rank %d", round, rank)
						survivors.Add(1)
					}
					mpitest.Kill(p)
				})
				require.Positive(t, survivors.Load(), "round %d", round)
				killed += n - int(survivors.Load())
			}
			assert.Greater(t, killed, rounds, "more than one in each round")
		})
	})
}

// TestSurviveEnds: an error with another cause than a lost process ends Survive on all ranks. So does a
// function that revokes without need.
func TestSurviveEnds(t *testing.T) {
	own, fs := errclass.New(errclass.NoSpace, "the disk is full"), filetest.New(t)
	ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
		calls := 0
		err := checkpoint.Survive(bg, w, func(context.Context, *mpi.Comm) error {
			calls++
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, 1, calls)

		c, err := w.Dup(bg)
		require.NoError(t, err)
		err = checkpoint.Survive(bg, c, func(ctx context.Context, c *mpi.Comm) error {
			if c.Rank() == 1 {
				return own
			}
			return c.Barrier(ctx) // which waits for rank 1
		})
		if w.Rank() == 1 {
			require.Equal(t, error(own), err)
		} else {
			require.ErrorIs(t, err, mpi.ErrRevoked)
		}
		require.NoError(t, c.Free())

		c, err = w.Dup(bg)
		require.NoError(t, err)
		err = checkpoint.Survive(bg, c, func(ctx context.Context, c *mpi.Comm) error {
			s, err := checkpoint.Open(ctx, c, fs.Name(), checkpoint.Options{})
			if err != nil {
				return err
			}
			defer func() { _ = s.Close(ctx) }()
			if c.Rank() == 1 {
				return own
			}
			return s.Save(ctx, 1) // which waits for rank 1
		})
		if w.Rank() == 1 {
			require.Equal(t, error(own), err)
		} else {
			require.ErrorIs(t, err, mpi.ErrRevoked)
		}
		require.NoError(t, c.Free())

		c, err = w.Dup(bg)
		require.NoError(t, err)
		err = checkpoint.Survive(bg, c, func(context.Context, *mpi.Comm) error {
			if c.Rank() == 2 {
				return nil
			}
			return fmt.Errorf("no process is lost: %w", mpi.ErrRevoked)
		})
		if w.Rank() == 2 {
			require.ErrorContains(t, err, "another process cannot go on")
		} else {
			require.ErrorIs(t, err, mpi.ErrRevoked)
		}
		require.NoError(t, c.Free())
	})
}

// TestContext: a context that ends within a save ends it on all ranks; the store can be opened again,
// and has a whole checkpoint.
func TestContext(t *testing.T) {
	fs := prepared(t, 3, false)
	for k := range 30 {
		ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
			s, err := checkpoint.Open(bg, w, fs.Name(), checkpoint.Options{})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(bg)
			if w.Rank() == 0 {
				fs.Set(func(st filetest.Step) error {
					if st.Number == k {
						cancel()
					}
					return nil
				})
			}
			require.NoError(t, w.Barrier(bg))
			arrays, v := state(3)
			list, _ := items(t, arrays, division{n: 3, seed: 1}, w.Rank(), true)
			err = s.Save(ctx, 3, append(list, checkpoint.Value("v", &v))...)
			switch {
			case err == nil: // it had ended before
			case w.Rank() == 0:
				require.ErrorIs(t, err, context.Canceled, "step %d", k)
			default:
				require.ErrorIs(t, err, mpi.ErrRevoked, "step %d", k)
			}
			require.NoError(t, s.Close(bg))
			cancel()
		})
		fs.Set(nil)
		require.Contains(t, []int64{2, 3}, restored(t, fs.Name(), 2).Step, "step %d", k)
	}
}

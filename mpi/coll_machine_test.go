package mpi_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// onHosts makes ranks believe in hosts of so many consecutive ranks.
func onHosts(each int) mpitest.Options {
	return mpitest.Options{Each: func(_ int, o *mpi.Options) { o.RanksPerHost = each }}
}

// TestCollectivesOnHosts is TestCollectives on several hosts.
func TestCollectivesOnHosts(t *testing.T) {
	sizes, seeds := []int{3, 5, 6, 8, 9, 16}, uint64(8)
	if testing.Short() {
		sizes, seeds = []int{5, 8}, 4
	}
	for _, n := range sizes {
		for each := 2; each <= 4; each++ {
			t.Run(fmt.Sprintf("ranks=%d/each=%d", n, each), func(t *testing.T) {
				mpitest.Run(t, n, onHosts(each), func(t *testing.T, p *mpi.Process) {
					backwards, err := p.World().Split(bg, p.World().Rank()%2, -p.World().Rank())
					require.NoError(t, err)
					for seed := range seeds {
						collectiveProgram(t, p.World(), seed)
						collectiveProgram(t, backwards, seed+100)
					}
				})
			})
		}
	}
}

// TestHostsOfCards: hosts are known from what processes tell of themselves, also where their ranks
// are not consecutive.
func TestHostsOfCards(t *testing.T) {
	o := mpitest.Options{Each: func(rank int, o *mpi.Options) { o.Host = fmt.Sprint("host", rank%3) }}
	mpitest.Run(t, 8, o, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		assert.Equal(t, "8 mixed ranks on 3 hosts", fmt.Sprint(w.Hosts()))
		for seed := range uint64(4) {
			collectiveProgram(t, w, seed)
		}
		mine, err := w.SplitType(bg, mpi.SplitShared, 0, nil)
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("%d consecutive ranks on 1 hosts", mine.Size()), fmt.Sprint(mine.Hosts()))
	})
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		assert.Nil(t, p.World().Hosts(), "one host needs no map")
	})
}

// TestEndInAllOnHosts is TestCollectivesEndInAll on several hosts. The victim leads one of them or
// not.
func TestEndInAllOnHosts(t *testing.T) {
	for name, do := range ofAll {
		for victim := range 4 {
			if testing.Short() && victim%2 == 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s/victim=%d", name, victim), func(t *testing.T) {
				o := onHosts(2)
				o.Leave = true
				mpitest.Run(t, 7, o, func(t *testing.T, p *mpi.Process) { endInAll(t, p, do, victim+1, victim*3) })
			})
		}
	}
}

// TestSettingsOfRank0: the settings of rank 0 count for all ranks. Settings of other ranks are
// ignored.
func TestSettingsOfRank0(t *testing.T) {
	o := mpitest.Options{Each: func(rank int, o *mpi.Options) {
		o.RanksPerHost = rank + 2
		if rank > 0 {
			o.Tuning = "/there/is/none"
		}
	}}
	mpitest.Run(t, 6, o, func(t *testing.T, p *mpi.Process) {
		assert.Equal(t, "6 consecutive ranks on 3 hosts", fmt.Sprint(p.World().Hosts()))
		collectiveProgram(t, p.World(), 1)
	})
}

// inits runs Init on n ranks and returns their errors.
func inits(t *testing.T, n int, each func(rank int, o *mpi.Options)) []error {
	boots, err := boot.Local(n)
	require.NoError(t, err)
	errs := make([]error, n)
	var all sync.WaitGroup
	for rank, b := range boots {
		all.Go(func() {
			o := mpi.Options{Boot: b, Method: mpitest.Memory}
			each(rank, &o)
			var p *mpi.Process
			if p, errs[rank] = mpi.Init(briefly(t), o); errs[rank] == nil {
				errs[rank] = p.Finalize(context.Background())
			}
		})
	}
	all.Wait()
	return errs
}

// TestWrongSettings: wrong settings of rank 0 end all ranks, with an error that says what is wrong.
func TestWrongSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "table")
	require.NoError(t, os.WriteFile(file, []byte("viaduct-tuning 1\nbcast one 1 1 dancing\n"), 0o600))
	for says, o := range map[string]mpi.Options{
		file + `:2: bcast has no algorithm`: {Tuning: file},
		"no such file":                      {Tuning: file + "x"},
		"-1 ranks per host":                 {RanksPerHost: -1},
	} {
		for _, n := range []int{1, 3} {
			for rank, err := range inits(t, n, func(rank int, mine *mpi.Options) {
				if rank == 0 {
					mine.Tuning, mine.RanksPerHost = o.Tuning, o.RanksPerHost
				}
			}) {
				require.ErrorIs(t, err, mpi.ErrArg, "rank %d", rank)
				assert.ErrorContains(t, err, says, "rank %d", rank)
			}
		}
	}
}

// TestEnvironment: the variables are defaults of the options.
func TestSettingsOfTheEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "table")
	require.NoError(t, os.WriteFile(file, []byte("viaduct-tuning 1\nallreduce * * * linear\n"), 0o600))
	t.Setenv(mpi.TuningEnv, file)
	t.Setenv(mpi.RanksPerHostEnv, "2")
	mpitest.Run(t, 5, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		assert.Equal(t, "5 consecutive ranks on 3 hosts", fmt.Sprint(p.World().Hosts()))
		assert.Equal(t, "viaduct-tuning 1\nallreduce * * * linear\n", mpi.TuningOf(p.World()))
		collectiveProgram(t, p.World(), 2)
	})
	t.Setenv(mpi.RanksPerHostEnv, "two")
	for _, err := range inits(t, 2, func(int, *mpi.Options) {}) {
		assert.ErrorContains(t, err, `MPI_RANKS_PER_HOST is \"two\"`)
	}
}

// barrierMessages returns how many messages this process sends in a barrier, on average.
func barrierMessages(t *testing.T, c *mpi.Comm) float64 {
	const rounds = 200
	sent := func() (n uint64) {
		for _, m := range c.Process().Endpoint().Stats().Methods {
			n += m.MessagesSent
		}
		return n
	}
	require.NoError(t, c.Barrier(bg)) // makes connections
	before := sent()
	for range rounds {
		require.NoError(t, c.Barrier(bg))
	}
	return float64(sent()-before) / rounds
}

// TestAlgorithmsAreUsed: what a rank sends in a barrier tells which algorithm it is.
func TestAlgorithmsAreUsed(t *testing.T) {
	const tolerance = 0.2 // for packets that return credit
	linear, err := coll.NewTuning([]coll.Rule{{
		Operation: coll.OpBarrier, Where: coll.AnyWhere, Ranks: coll.NoLimit, Bytes: coll.NoLimit, Algorithm: coll.Linear,
	}})
	require.NoError(t, err)
	o := mpitest.Options{Method: "via+shm"}
	mpitest.Run(t, 4, o, func(t *testing.T, p *mpi.Process) {
		assert.InDelta(t, 2, barrierMessages(t, p.World()), tolerance, "dissemination")
		require.NoError(t, p.World().SetTuning(bg, linear))
		got := barrierMessages(t, p.World())
		if p.World().Rank() == 3 {
			assert.InDelta(t, 1, got, tolerance, "linear")
		}
	})
	o.Each = onHosts(2).Each
	mpitest.Run(t, 4, o, func(t *testing.T, p *mpi.Process) {
		got := barrierMessages(t, p.World())
		if p.World().Rank() == 3 {
			assert.InDelta(t, 1, got, tolerance, "hierarchical: it reports to rank 2")
		}
	})
}

// TestSetTuning: a communicator has the same table in all its processes, or none.
func TestSetTuning(t *testing.T) {
	mpitest.Run(t, 4, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		table := func(text string) *coll.Tuning {
			tuning, err := coll.ParseTuning("t", strings.NewReader("viaduct-tuning 1\n"+text))
			require.NoError(t, err)
			return tuning
		}
		require.NoError(t, w.SetTuning(bg, table("bcast * * * chain\n")))
		collectiveProgram(t, w, 6)
		err := w.SetTuning(bg, table(strings.Repeat("bcast * * * linear\n", w.Rank()/3)))
		require.ErrorIs(t, err, mpi.ErrArg)
		assert.ErrorContains(t, err, "different tuning tables")
		assert.Equal(t, "viaduct-tuning 1\nbcast * * * chain\n", mpi.TuningOf(w), "the last that all agreed on")
		require.NoError(t, w.SetTuning(bg, nil))
		assert.Empty(t, mpi.TuningOf(w))
		collectiveProgram(t, w, 7)
	})
}

// TestJobsOnHosts: if jobs with different settings merge, the settings of neither job count.
func TestJobsOnHosts(t *testing.T) {
	ctx := briefly(t)
	port := make(chan string, 1)
	var jobs sync.WaitGroup
	together := func(t *testing.T, inter *mpi.Comm, high bool) {
		merged, err := inter.Merge(bg, high)
		require.NoError(t, err)
		assert.Equal(t, "7 consecutive ranks on 1 hosts", fmt.Sprint(merged.Hosts()))
		collectiveProgram(t, merged, 5)
		require.NoError(t, merged.Free())
		require.NoError(t, inter.Disconnect(bg))
	}
	jobs.Go(func() {
		mpitest.Run(t, 4, onHosts(2), func(t *testing.T, p *mpi.Process) {
			name := ""
			if p.World().Rank() == 0 {
				var err error
				name, err = p.OpenPort(ctx, nil)
				require.NoError(t, err)
				port <- name
			}
			inter, err := p.World().Accept(ctx, name, 0)
			require.NoError(t, err)
			together(t, inter, false)
		})
	})
	jobs.Go(func() {
		mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
			name := ""
			if p.World().Rank() == 0 {
				name = <-port
			}
			inter, err := p.World().Connect(ctx, name, 0)
			require.NoError(t, err)
			together(t, inter, true)
		})
	})
	jobs.Wait()
}

// TestReorder: a grid of 4 by 4 on four hosts has a square on each, and messages go where the
// coordinates say.
func TestReorder(t *testing.T) {
	mpitest.Run(t, 17, onHosts(4), func(t *testing.T, p *mpi.Process) {
		w := p.World()
		grid, err := w.CartCreate(bg, []int{4, 4}, []bool{false, false}, true)
		require.NoError(t, err)
		if w.Rank() == 16 {
			assert.Nil(t, grid)
			return
		}
		cart, err := grid.Cart()
		require.NoError(t, err)
		at, err := cart.Coords(grid.Rank())
		require.NoError(t, err)
		host, square := w.Rank()/4, w.Rank()%4
		assert.Equal(t, []int{2*(host/2) + square/2, 2*(host%2) + square%2}, at)
		above, below, err := cart.Shift(grid.Rank(), 0, 1)
		require.NoError(t, err)
		got := []int{-1, -1}
		_, err = grid.Sendrecv(bg, mpi.Slice(at), below, 1, mpi.Slice(got), above, 1)
		require.NoError(t, err)
		if at[0] > 0 {
			assert.Equal(t, []int{at[0] - 1, at[1]}, got)
		}
		collectiveProgram(t, grid, 4)
		same, err := grid.CartCreate(bg, []int{4, 4}, []bool{false, false}, false)
		require.NoError(t, err)
		assert.Equal(t, grid.Rank(), same.Rank())
	})
}

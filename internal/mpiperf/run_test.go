package mpiperf

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// everyTest returns the names of all tests.
func everyTest(t *testing.T) []perf.Test {
	all, err := ParseTests([]string{string(all)})
	require.NoError(t, err)
	return all
}

// measured runs a plan on some ranks of this program and returns the results of
// rank 0.
func measured(t *testing.T, ranks int, method string, plan Plan) (results []Result) {
	mpitest.Run(t, ranks, mpitest.Options{Method: method}, func(t *testing.T, p *mpi.Process) {
		err := Run(p, plan, func(r Result) error {
			assert.Zero(t, p.World().Rank(), "only rank 0 reports")
			results = append(results, r)
			return nil
		})
		assert.NoError(t, err)
	})
	return results
}

func TestEveryTestIsMeasuredAndChecked(t *testing.T) {
	sizes := []int{0, 1, 8, 24, 64, 1000, 19_200}
	for _, job := range []struct {
		method string
		ranks  []int
	}{{mpitest.Memory, []int{1, 2, 3, 4}}, {"via+shm", []int{3}}} {
		t.Run(job.method, func(t *testing.T) {
			ranks := slices.Max(job.ranks)
			got := measured(t, ranks, job.method, Plan{Tests: everyTest(t), Sizes: sizes, Ranks: job.ranks, Iterations: 6, Batches: 3, Window: 5, Check: true})
			var points []string
			for _, r := range got {
				points = append(points, fmt.Sprint(r.Test, " ", r.Ranks, " ", r.Size))
				assert.Equal(t, job.method, r.Method)
				assert.Equal(t, 6, r.Iterations, r.Test)
				assert.Equal(t, 3, r.Batches, r.Test)
				assert.Equal(t, checkRounds, r.Checked)
				assert.LessOrEqual(t, r.Min, r.Avg, r.Test)
				assert.LessOrEqual(t, r.Avg, r.Max, r.Test)
				assert.Positive(t, r.Median, r.Test)
				s, _ := specOf(r.Test)
				assert.Equal(t, s.unit(), r.Unit)
			}
			var want []string
			for _, s := range specs {
				if s.kind == files {
					continue
				}
				on := job.ranks
				if s.paired() {
					on = []int{2}
				}
				for _, n := range on {
					for _, size := range sizes {
						if s.test == "barrier" && size == 0 || s.test != "barrier" && size >= s.sizeMin && size%max(1, s.sizeMin) == 0 {
							want = append(want, fmt.Sprint(s.test, " ", n, " ", size))
						}
					}
				}
			}
			assert.Equal(t, want, points)
		})
	}
}

func TestATimeDecidesOnIterations(t *testing.T) {
	for _, r := range measured(t, 2, "", Plan{Tests: []perf.Test{perf.Latency, perf.Rate, "bcast"}, Sizes: []int{8}, Time: 10 * time.Millisecond}) {
		assert.GreaterOrEqual(t, r.Batches, 3, r.Test)
		assert.GreaterOrEqual(t, r.Iterations, r.Batches, r.Test)
		assert.Zero(t, r.Checked)
	}
}

// TestWrongContentsAreFound checks the contents in every test before anything was
// sent.
func TestWrongContentsAreFound(t *testing.T) {
	for _, s := range specs {
		t.Run(string(s.test), func(t *testing.T) {
			with := setup{size: 64, window: 2}
			if s.kind == files {
				with.size, with.file = fileMin, filepath.Join(t.TempDir(), "file")
			}
			mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
				me := p.World().Rank()
				j, err := s.open(p.World(), with)
				require.NoError(t, err)
				j.fill(1)
				idle := map[perf.Test]int{perf.Rate: 0, perf.Bandwidth: 0, "bcast": 0, "gather": 1, "gatherv": 1, "reduce": 1, "exscan": 0, "put": 0, "get": 1, "fence": 0}
				if rank, some := idle[s.test]; s.test == "barrier" || some && rank == me {
					assert.NoError(t, j.check(1), "nothing arrives at rank %d", me)
				} else {
					assert.Error(t, j.check(1), "rank %d", me)
				}
				if end, ok := j.(interface{ close() error }); ok {
					assert.NoError(t, end.close())
				}
			})
		})
	}
}

func TestFilesAreMeasuredAndChecked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	files, err := ParseTests([]string{string(files)})
	require.NoError(t, err)
	var points []string
	for _, r := range measured(t, 3, "", Plan{
		Tests: files, Sizes: []int{1000, fileMin / 2, fileMin, 2 * fileMin}, Ranks: []int{1, 3}, Iterations: 2, Check: true, File: name,
	}) {
		points = append(points, fmt.Sprint(r.Test, " ", r.Ranks, " ", r.Size))
		assert.Equal(t, perf.UnitMB, r.Unit)
		assert.Positive(t, r.Median, r.Test)
		assert.Equal(t, checkRounds, r.Checked)
	}
	var want []string
	for _, s := range files {
		for _, n := range []int{1, 3} {
			want = append(want, fmt.Sprint(s, " ", n, " 65536"), fmt.Sprint(s, " ", n, " 131072"))
		}
	}
	assert.Equal(t, want, points)
	assert.NoFileExists(t, name)
}

// TestBlocks: the blocks of all ranks are the array, without overlap.
func TestBlocks(t *testing.T) {
	assert.Equal(t, [3]int{512, 256, 256}, ArrayOf(256<<20))
	assert.Equal(t, [3]int{32, 16, 16}, ArrayOf(fileMin))
	for _, ranks := range []int{1, 2, 3, 4, 6, 256} {
		grid := gridOf(ranks)
		require.True(t, divisible(fileMin, grid), ranks)
		seen := make(map[[2]int]bool)
		for rank := range ranks {
			whole, mine, start := blockOf(fileMin, rank, grid)
			assert.Equal(t, []int{0, whole[0]}, []int{start[0], mine[0]})
			for row := range mine[1] {
				for column := range mine[2] {
					seen[[2]int{start[1] + row, start[2] + column}] = true
				}
			}
			assert.Positive(t, mine[1]*mine[2])
		}
		assert.Len(t, seen, 16*16)
	}
	assert.False(t, divisible(fileMin, gridOf(17)))
}

// TestWindowsOfTheProgram: one-sided tests have memory that is reached by messages.
func TestWindowsOfTheProgram(t *testing.T) {
	for _, r := range measured(t, 2, "", Plan{Tests: []perf.Test{"put", "get", "fetch_and_op", "fence"}, Sizes: []int{8, 64 << 10}, Iterations: 3, Check: true, Created: true}) {
		assert.Positive(t, r.Median, r.Test)
	}
}

// A late is a test whose rank 1 gets the message of the round before.
type late struct{ job }

func (l late) fill(round int) { l.job.fill(max(0, round-1)) }

func TestWhatIsWrongAtOneRankEndsAll(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		j, err := openPingPong(p.World(), setup{size: 8, window: 1})
		require.NoError(t, err)
		if p.World().Rank() == 1 {
			j = late{j}
		}
		s, _ := specOf(perf.Latency)
		err = (&point{spec: s, c: p.World(), size: 8, window: 1, job: j}).check()
		if p.World().Rank() == 0 {
			assert.ErrorContains(t, err, "latency of 8 B on 2 ranks, round 1, at rank 0: byte 0 of 8 from rank 1 for rank 0 is")
		} else {
			assert.ErrorContains(t, err, "correct here, but wrong on 1 other ranks")
		}
	})
}

func TestReportsErrorEndsTheRun(t *testing.T) {
	full := errors.New("the disk is full")
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		err := Run(p, Plan{Tests: []perf.Test{"barrier"}, Iterations: 1}, func(Result) error { return full })
		assert.ErrorIs(t, err, full)
	})
}

func TestBadPlansAreEverybodysError(t *testing.T) {
	barrier := []perf.Test{"barrier"}
	for text, plan := range map[string]Plan{
		"unknown test":                     {Tests: []perf.Test{"lateness"}},
		"a window of -1":                   {Tests: barrier, Window: -1},
		"a window of 5000":                 {Tests: barrier, Window: 5000},
		"-3 batches":                       {Tests: barrier, Batches: -3},
		"-1 iterations":                    {Tests: barrier, Iterations: -1},
		"a time of -1s":                    {Tests: barrier, Time: -time.Second},
		"both a time and":                  {Tests: barrier, Time: time.Second, Iterations: 1},
		"3 ranks of a job that has 2":      {Tests: barrier, Ranks: []int{3}},
		"0 ranks":                          {Tests: barrier, Ranks: []int{0}},
		"none of the sizes is one for red": {Tests: []perf.Test{"reduce"}, Sizes: []int{0, 7}},
		"takes 3221225472 bytes of memory": {Tests: []perf.Test{"allgather"}, Sizes: []int{1 << 30}},
		"a size of 2147483648 bytes":       {Tests: []perf.Test{"bcast"}, Sizes: []int{2 << 30}},
		"needs the name of a file":         {Tests: []perf.Test{"write_all"}},
		"powers of two from 64 KiB on":     {Tests: []perf.Test{"write_all"}, Sizes: []int{96 << 10}, File: "file"},
	} {
		t.Run(text, func(t *testing.T) {
			mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
				err := Run(p, plan, nil)
				assert.ErrorIs(t, err, ErrPlan)
				assert.ErrorContains(t, err, text)
			})
		})
	}
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		assert.ErrorContains(t, Run(p, Plan{Tests: []perf.Test{perf.Rate}}, nil), "mpiexec -n 2")
	})
}

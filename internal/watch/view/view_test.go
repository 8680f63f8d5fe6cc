package view

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/watchtest"
)

// joined is the view of processes at second, after one a second before.
func joined(t *testing.T, q table.Query, of func(second int) []*watch.Snapshot) *View {
	t.Helper()
	q, err := table.New(q)
	require.NoError(t, err)
	var j Joiner
	rankers := make([]table.Ranker, len(of(0)))
	var v *View
	for second := range 2 {
		var samples []Sample
		for i, s := range of(second) {
			samples = append(samples, Sample{Target: s.Program + s.Host, Snapshot: rankers[i].Rank(s, q.Top())})
			samples[i].Target += string(rune('a' + i))
		}
		v = j.Join(watchtest.Epoch, samples, q)
	}
	return v
}

func TestServer(t *testing.T) {
	v := joined(t, table.Query{Limit: 5}, func(second int) []*watch.Snapshot { return []*watch.Snapshot{watchtest.Server("io1", second)} })
	require.Len(t, v.Servers, 1)
	s := v.Servers[0]
	assert.Equal(t, "io1", s.Alias)
	assert.InDelta(t, 907, s.Rate, 1e-9)
	assert.InDelta(t, 10, s.FailRate, 1e-9)
	assert.Equal(t, uint64(7), s.Active)
	assert.InDelta(t, 85<<20, s.ReadRate, 1e-6)
	assert.Equal(t, []string{"getattr", "io", "lookup", "create", "readdir"}, names(s.Kinds), "the most frequent first")
	assert.InDelta(t, 80<<20, s.Heal.Rate, 1e-6)
	assert.InDelta(t, float64(s.Heal.Total-s.Heal.Done)/(80<<20), s.Heal.Left, 1e-6)
	assert.Zero(t, s.Scrub.Rate)
	assert.Equal(t, 12, v.Peers.Known)
	assert.Len(t, v.Peers.Rows, 5)
	assert.Equal(t, map[string]int{"READY": 12}, v.Peers.States)
	assert.InDelta(t, 90<<20, v.Processes[0].Rates.BytesSent, 1e-6)
}

func names(kinds []Kind) (all []string) {
	for _, k := range kinds {
		all = append(all, k.Name)
	}
	return all
}

// TestQuantiles compares with the values themselves: the quantile lies in the bucket of the right one.
func TestQuantiles(t *testing.T) {
	bounds := []float64{1, 2, 5, 10}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var values []float64
		counts := make([]uint64, len(bounds)+1)
		for range 1 + rng.IntN(40) {
			x := rng.Float64() * 12
			values = append(values, x)
			counts[sort.SearchFloat64s(bounds, x)]++
		}
		slices.Sort(values)
		for _, q := range []float64{0.5, 0.9, 0.99} {
			want := values[int(math.Ceil(q*float64(len(values))))-1]
			bucket := sort.SearchFloat64s(bounds, want)
			got := quantile(bounds, counts, q)
			if bucket == len(bounds) {
				require.Equal(t, Quantile{10, true}, got)
				continue
			}
			require.False(t, got.Over)
			require.LessOrEqual(t, got.Seconds, bounds[bucket])
			require.GreaterOrEqual(t, got.Seconds, append([]float64{0}, bounds...)[bucket])
		}
	}
	assert.Zero(t, quantile(bounds, make([]uint64, 5), 0.5), "no request")
	assert.Zero(t, quantile(bounds, []uint64{1}, 0.5), "not a histogram")
	assert.Zero(t, quantile(nil, nil, 0.5))
	assert.Equal(t, []uint64{0, 3}, since([]uint64{1, 2}, []uint64{1, 5}))
	assert.Equal(t, []uint64{1, 2}, since([]uint64{1, 2}, []uint64{1, 2}), "nothing was added")
	assert.Equal(t, []uint64{1, 2}, since([]uint64{1, 3}, []uint64{1, 2}), "it began again")
	assert.Equal(t, []uint64{1, 2}, since([]uint64{1}, []uint64{1, 2}), "other bounds")
}

func TestProcessesThatDoNotAnswer(t *testing.T) {
	q, err := table.New(table.Query{})
	require.NoError(t, err)
	v := new(Joiner).Join(watchtest.Epoch, []Sample{{Target: "node1:9100", Err: errors.New("no answer in time")}, {Target: "node2:9100", Snapshot: new(table.Ranker).Rank(watchtest.Client(3, 0), q)}}, q)
	require.Len(t, v.Processes, 2)
	assert.Equal(t, "no answer in time", v.Processes[0].Error)
	assert.Equal(t, 3, v.Processes[1].Peers)
	assert.Equal(t, 3, v.Processes[1].UnexpectedMessages)
	assert.Empty(t, v.Peers.Rows)
}

func TestRatesComeFromTheSameProcess(t *testing.T) {
	q, err := table.New(table.Query{})
	require.NoError(t, err)
	var j Joiner
	at := func(second, pid int) *View {
		s := watchtest.Client(1, second)
		s.PID = pid
		return j.Join(watchtest.Epoch, []Sample{{Target: "x", Snapshot: new(table.Ranker).Rank(s, q)}}, q)
	}
	at(0, 1)
	require.Positive(t, at(1, 1).Processes[0].Rates.BytesSent)
	require.Zero(t, at(5, 2).Processes[0].Rates.BytesSent, "another process took the place")
	for range forgetAfter + 2 {
		j.Join(watchtest.Epoch, nil, q)
	}
	require.Empty(t, j.known, "a target that is gone is forgotten")
}

func TestRanges(t *testing.T) {
	for want, ranks := range map[string][]int{"": {}, "3": {3}, "3,4": {4, 3}, "0,2-5": {5, 4, 2, 0, 3, 3}} {
		assert.Equal(t, want, ranges(ranks))
	}
	var odd []int
	for i := range 1000 {
		odd = append(odd, 2*i+1)
	}
	assert.Regexp(t, `^1,3,5,.*… and \d+ more$`, ranges(odd))
	assert.Less(t, len(ranges(odd)), 300)
}

var now = watchtest.Epoch.Add(time.Hour)

// ranks makes a job from the waits of each rank.
func ranks(waits map[int][]watch.Wait, size int) Job {
	members := make(map[int]member)
	for rank := range size {
		members[rank] = member{rank, &watch.Snapshot{Taken: now, Rank: &watch.Rank{Job: "j", Rank: rank, Size: size, Waits: waits[rank]}}}
	}
	return jobOf("j", size, members)
}

func wait(call string, peers ...int) []watch.Wait {
	return []watch.Wait{{Call: call, Peers: peers, Since: now.Add(-time.Minute)}}
}

func TestDeadlocks(t *testing.T) {
	const recv, any, all = "MPI_Recv", "MPI_Waitany", "MPI_Allreduce"
	young := []watch.Wait{{Call: recv, Peers: []int{0}, Since: now.Add(-time.Second)}}
	for name, c := range map[string]struct {
		size   int
		waits  map[int][]watch.Wait
		stuck  string
		cycles []Cycle
	}{
		"nobody waits":                           {3, nil, "", nil},
		"a chain ends at one that runs":          {3, map[int][]watch.Wait{0: wait(recv, 1), 1: wait(recv, 2)}, "", nil},
		"two for each other":                     {3, map[int][]watch.Wait{0: wait(recv, 1), 1: wait(recv, 0)}, "0,1", []Cycle{{"0,1", []int{0, 1}, []string{recv, recv}}}},
		"one has just begun":                     {3, map[int][]watch.Wait{0: wait(recv, 1), 1: young}, "", nil},
		"one for itself":                         {2, map[int][]watch.Wait{1: wait(recv, 1)}, "1", []Cycle{{"1", []int{1}, []string{recv}}}},
		"one behind two":                         {3, map[int][]watch.Wait{0: wait(recv, 1), 1: wait(recv, 0), 2: wait(recv, 1)}, "0-2", []Cycle{{"0,1", []int{0, 1}, []string{recv, recv}}}},
		"any of two, one of which runs":          {3, map[int][]watch.Wait{0: wait(any, 1, 2), 1: wait(recv, 0)}, "", nil},
		"any of two that wait for it":            {3, map[int][]watch.Wait{0: wait(any, 1, 2), 1: wait(recv, 0), 2: wait(recv, 0)}, "0-2", []Cycle{{"0-2", []int{0, 1}, []string{any, recv}}}},
		"all of two, one of which runs":          {3, map[int][]watch.Wait{0: wait("MPI_Waitall", 1, 2), 1: wait(recv, 0)}, "0,1", []Cycle{{"0,1", []int{0, 1}, []string{"MPI_Waitall", recv}}}},
		"any rank, one runs":                     {3, map[int][]watch.Wait{0: wait(recv), 1: wait(recv)}, "", nil},
		"any rank, none runs":                    {3, map[int][]watch.Wait{0: wait(recv), 1: wait(recv), 2: wait(recv)}, "0-2", []Cycle{{Ranks: "0-2"}}},
		"all in one collective":                  {3, map[int][]watch.Wait{0: wait(all, 1, 2), 1: wait(all, 0, 2), 2: wait(all, 0, 1)}, "", nil},
		"two collectives":                        {2, map[int][]watch.Wait{0: wait(all, 1), 1: wait("MPI_Barrier", 0)}, "0,1", []Cycle{{"0,1", []int{0, 1}, []string{all, "MPI_Barrier"}}}},
		"a collective without one that receives": {3, map[int][]watch.Wait{0: wait(all, 1, 2), 1: wait(all, 0, 2), 2: wait(recv, 0)}, "0-2", []Cycle{{"0,2", []int{0, 2}, []string{all, recv}}}},
		"another thread goes on":                 {2, map[int][]watch.Wait{0: wait(recv, 1), 1: append(wait(recv, 0), young...)}, "", nil},
		"two circles": {5, map[int][]watch.Wait{0: wait(recv, 3), 3: wait(recv, 0), 1: wait(recv, 2), 2: wait(recv, 4), 4: wait(recv, 1)}, "0-4",
			[]Cycle{{"0,3", []int{0, 3}, []string{recv, recv}}, {"1,2,4", []int{1, 2, 4}, []string{recv, recv, recv}}}},
	} {
		t.Run(name, func(t *testing.T) {
			j := ranks(c.waits, c.size)
			var stuck []int
			for _, r := range j.Ranks {
				if r.Stuck {
					stuck = append(stuck, r.Rank)
				}
			}
			assert.Equal(t, c.stuck, ranges(stuck))
			assert.Equal(t, len(stuck), j.Stuck)
			assert.Equal(t, c.cycles, j.Cycles)
		})
	}
}

// TestStuckIsTheLargestSetThatSupportsItself compares with all sets of ranks, one after the other.
func TestStuckIsTheLargestSetThatSupportsItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		n := 1 + rng.IntN(6)
		var needs []need
		for rank := range n {
			for range rng.IntN(3) {
				d := need{rank: rank, any: rng.IntN(3) == 0}
				for p := range n {
					if rng.IntN(3) == 0 {
						d.peers = append(d.peers, p)
					}
				}
				needs = append(needs, d)
			}
		}
		want := 0
		for set := range 1 << n {
			if supports(set, n, needs) {
				want |= set
			}
		}
		got := 0
		for rank, yes := range stuck(n, slices.Clone(needs)) {
			if yes {
				got |= 1 << rank
			}
		}
		require.Equal(t, want, got, "%+v", needs)
	}
}

// supports reports whether no rank of a set can go on if the others of it cannot.
func supports(set, n int, needs []need) bool {
	in := func(rank int) bool { return set>>rank&1 == 1 }
	for rank := range n {
		if !in(rank) {
			continue
		}
		waits := 0
		for _, d := range needs {
			if d.rank != rank {
				continue
			}
			waits++
			blocked := 0
			peers := d.peers
			if d.any && len(peers) == 0 {
				for other := range n {
					peers = append(peers, other)
				}
			}
			for _, p := range peers {
				if in(p) {
					blocked++
				}
			}
			if d.any && blocked < len(peers) || !d.any && blocked == 0 {
				return false
			}
		}
		if waits == 0 {
			return false
		}
	}
	return true
}

func TestJobs(t *testing.T) {
	v := joined(t, table.Query{}, func(second int) []*watch.Snapshot { return watchtest.Job(16, second) })
	require.Len(t, v.Jobs, 1)
	j := v.Jobs[0]
	assert.Equal(t, 16, j.Seen)
	assert.Equal(t, 15, j.Waiting)
	assert.Equal(t, 15, j.Stuck)
	assert.Equal(t, []Cycle{{"0-2", []int{0, 1, 2}, []string{"MPI_Recv", "MPI_Recv", "MPI_Recv"}}}, j.Cycles)
	assert.Len(t, j.Edges, 15)
	assert.Equal(t, 15, j.Ranks[15].Rank, "the one that runs is last")
	assert.InDelta(t, 41, j.Ranks[0].Waits[0].Seconds, 1e-9)

	some := joined(t, table.Query{}, func(second int) []*watch.Snapshot {
		all := watchtest.Job(16, second)
		return []*watch.Snapshot{all[0], all[1], all[5], all[5]}
	})
	assert.Equal(t, "2-4,6-15", some.Jobs[0].Missing)
	assert.Zero(t, some.Jobs[0].Stuck, "who does not answer may go on")
	assert.Len(t, some.Notes, 1)
	assert.Contains(t, some.Notes[0], "says that it is rank 5 of job heat-81, as another process does")

	large := joined(t, table.Query{}, func(second int) []*watch.Snapshot { return watchtest.Job(1000, second) })
	assert.Len(t, large.Jobs[0].Ranks, ranksMax)
	assert.Equal(t, 800, large.Jobs[0].Left)
}

func TestEdgesAreLimited(t *testing.T) {
	var everyone []int
	for i := range 300 {
		everyone = append(everyone, i)
	}
	waits := make(map[int][]watch.Wait)
	for rank := range 300 {
		waits[rank] = wait("MPI_Alltoall", everyone...)
	}
	j := ranks(waits, 300)
	assert.Len(t, j.Edges, edgesMax)
	assert.Equal(t, 300*300-edgesMax, j.EdgesLeft)
}

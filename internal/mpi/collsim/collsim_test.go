package collsim

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/colltest"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// flat has one rank per host: a message of n bytes takes 1000+2*50+n ns.
var flat = Network{
	RanksPerHost: 1,
	Between:      Link{Latency: time.Microsecond, Overhead: 50 * time.Nanosecond, Bandwidth: 1e9},
	Within:       Link{Latency: 100 * time.Nanosecond, Overhead: 50 * time.Nanosecond, Bandwidth: 1e10},
}

func run(t *testing.T, n Network, ranks int, f func(c coll.Comm, s *coll.Scratch) error) Result {
	t.Helper()
	r, err := Run(n, Job{Ranks: ranks, Run: f})
	require.NoError(t, err)
	return r
}

func barrier(choose coll.Choice) func(c coll.Comm, _ *coll.Scratch) error {
	return func(c coll.Comm, _ *coll.Scratch) error { return coll.Barrier(c, choose) }
}

// TestDissemination takes exactly ceil(log2 p) messages one after the other.
func TestDissemination(t *testing.T) {
	for p := 1; p <= 300; p++ {
		r := run(t, flat, p, barrier(coll.Dissemination))
		require.Equal(t, time.Duration(Rounds(p))*flat.Between.Alpha(), r.Time, "%d ranks", p)
		require.Equal(t, p*Rounds(p), r.Messages)
	}
}

// TestOneMessage: each part of the model counts, and bytes cross two links at once.
func TestOneMessage(t *testing.T) {
	one := func(c coll.Comm, _ *coll.Scratch) error {
		if c.Rank() == 0 {
			return c.Send(1, make([]byte, 4000))
		}
		return c.Recv(0, make([]byte, 4000))
	}
	r := run(t, flat, 2, one)
	assert.Equal(t, 1100*time.Nanosecond+4*time.Microsecond, r.Time)
	assert.Equal(t, Result{Time: r.Time, Messages: 1, Bytes: 4000, Between: 1}, r)
	both := flat
	both.RanksPerHost = 2
	r = run(t, both, 2, one)
	assert.Equal(t, 200*time.Nanosecond+400*time.Nanosecond, r.Time)
	assert.Zero(t, r.Between)
}

// TestLinksAreShared: two ranks of a host that send at once wait for each other, on both sides.
func TestLinksAreShared(t *testing.T) {
	n := flat
	n.RanksPerHost = 2
	pairs := func(c coll.Comm, _ *coll.Scratch) error {
		if c.Rank() < 2 {
			return c.Send(c.Rank()+2, make([]byte, 4000))
		}
		return c.Recv(c.Rank()-2, make([]byte, 4000))
	}
	assert.Equal(t, flat.Between.Alpha()+8*time.Microsecond, run(t, n, 4, pairs).Time)
	// Two senders on different hosts share only the link into the third.
	meet := func(c coll.Comm, _ *coll.Scratch) error {
		if c.Rank() > 0 {
			return c.Send(0, make([]byte, 4000))
		}
		return errors.Join(c.Recv(1, make([]byte, 4000)), c.Recv(2, make([]byte, 4000)))
	}
	assert.Equal(t, flat.Between.Alpha()+8*time.Microsecond, run(t, flat, 3, meet).Time)
}

// TestPipeline: in a chain of segments, links are busy at once.
func TestPipeline(t *testing.T) {
	const p, piece = 5, 1000
	r := run(t, flat, p, func(c coll.Comm, s *coll.Scratch) error {
		return coll.Allgather(c, nil, make([]byte, p*piece), s, coll.Ring)
	})
	assert.Equal(t, (p-1)*(flat.Between.Alpha()+time.Microsecond), r.Time)
}

// TestSameMessages: for every algorithm, the messages recorded without data are those that it sends
// with data.
func TestSameMessages(t *testing.T) {
	for _, op := range coll.Operations {
		for _, a := range coll.Algorithms(op) {
			for _, p := range []int{2, 3, 8, 12} {
				for _, size := range []int{8, 4000} {
					f := operation(op, size, a.Name)
					n := flat
					n.RanksPerHost = 3
					r, err := Run(n, Job{Ranks: p, Hierarchy: true, Run: f})
					require.NoError(t, err, "%s %s", op, a.Name)
					hosts := make([]int, p)
					for i := range hosts {
						hosts[i] = i / n.RanksPerHost
					}
					w := colltest.New(p, 1).On(hosts)
					require.NoError(t, w.Run(func(c coll.Comm) error { return f(c, nil) }))
					assert.Equal(t, []int{w.Messages(), w.Bytes(), w.Between()}, []int{r.Messages, r.Bytes, r.Between}, "%s %s on %d ranks", op, a.Name, p)
				}
			}
		}
	}
}

// operation is an operation with pieces, or a vector, of a size that 8 divides.
func operation(op coll.Operation, size int, choose coll.Choice) func(c coll.Comm, s *coll.Scratch) error {
	f64, sum := datatype.Float64, reduce.Sum
	return func(c coll.Comm, s *coll.Scratch) error {
		p := c.Size()
		b := func(pieces int) []byte { return make([]byte, pieces*size) }
		each := func() (list [][]byte) {
			for range p {
				list = append(list, b(1))
			}
			return list
		}
		switch op {
		case coll.OpBarrier:
			return coll.Barrier(c, choose)
		case coll.OpBcast:
			return coll.Bcast(c, b(1), p/2, s, choose)
		case coll.OpGather:
			return coll.Gather(c, b(1), b(p), p/2, s, choose)
		case coll.OpScatter:
			return coll.Scatter(c, b(p), b(1), p/2, s, choose)
		case coll.OpAllgather:
			return coll.Allgather(c, b(1), b(p), s, choose)
		case coll.OpAllgatherv:
			return coll.Allgatherv(c, b(1), each(), s, choose)
		case coll.OpAlltoall:
			return coll.Alltoall(c, b(p), b(p), s, choose)
		case coll.OpAlltoallv:
			return coll.Alltoallv(c, each(), each(), s, choose)
		case coll.OpReduce:
			return coll.Reduce(c, b(1), b(1), f64, size/8, sum, p/2, s, choose)
		case coll.OpAllreduce:
			return coll.Allreduce(c, nil, b(1), f64, size/8, sum, s, choose)
		case coll.OpReduceScatter:
			return coll.ReduceScatterBlock(c, b(p), b(1), f64, size/8, sum, s, choose)
		case coll.OpScan:
			return coll.Scan(c, nil, b(1), f64, size/8, sum, s, choose)
		case coll.OpExscan:
			return coll.Exscan(c, nil, b(1), f64, size/8, sum, s, choose)
		}
		return errors.New("no such operation")
	}
}

// TestPeriod: a job that is recorded once for all hosts gives the same result as one that is
// recorded rank by rank, and a false promise is found.
func TestPeriod(t *testing.T) {
	n := flat
	n.RanksPerHost = 4
	for _, j := range []Job{
		{Run: operation(coll.OpAlltoall, 8, coll.Bruck), Period: 1},
		{Run: operation(coll.OpAlltoall, 8, coll.Hierarchical), Period: 4, Hierarchy: true},
	} {
		j.Ranks = 48
		short, err := Run(n, j)
		require.NoError(t, err)
		j.Period = 0
		long, err := Run(n, j)
		require.NoError(t, err)
		assert.Equal(t, long, short)
	}
	_, err := Run(n, Job{Ranks: 48, Run: operation(coll.OpBcast, 8, coll.Binomial), Period: 4})
	assert.ErrorContains(t, err, "no period of 4")
	_, err = Run(n, Job{Ranks: 48, Run: barrier(coll.Auto), Period: 7})
	assert.ErrorContains(t, err, "do not have a period of 7")
}

// TestWrongJobs end with an error.
func TestWrongJobs(t *testing.T) {
	for says, f := range map[string]func(c coll.Comm, _ *coll.Scratch) error{
		"waits for ever":    func(c coll.Comm, _ *coll.Scratch) error { return c.Recv(1-c.Rank(), nil) },
		"without receiving": func(c coll.Comm, _ *coll.Scratch) error { return c.Send(1-c.Rank(), nil) },
		"no mood":           func(coll.Comm, *coll.Scratch) error { return errors.New("no mood") },
	} {
		_, err := Run(flat, Job{Ranks: 2, Run: f})
		assert.ErrorContains(t, err, says)
	}
	_, err := Run(flat, Job{Run: barrier(coll.Auto)})
	assert.ErrorContains(t, err, "a map of hosts for 0 ranks")
	_, err = Run(Network{}, Job{Ranks: 2, Run: barrier(coll.Auto)})
	assert.ErrorContains(t, err, "a network needs")
}

// TestQueue: events come out by time, and in the order in which they were added.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var q queue
	var times []picos
	last := event{at: -1}
	for range 20_000 {
		if rng.IntN(5) < 3 {
			e := event{at: picos(rng.IntN(500))}
			q.add(e)
			times = append(times, e.at)
			last = event{at: -1}
			continue
		}
		e, ok := q.next()
		require.Equal(t, len(times) > 0, ok)
		if !ok {
			continue
		}
		i := slices.Index(times, slices.Min(times))
		require.Equal(t, times[i], e.at)
		times = slices.Delete(times, i, i+1)
		require.True(t, last.before(&e))
		last = e
	}
}

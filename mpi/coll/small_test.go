package coll_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/colltest"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// A partner is a communicator of two ranks whose other rank is a mirror.
type partner struct{ exchanges, others int }

func (p *partner) Rank() int { return 0 }
func (p *partner) Size() int { return 2 }

func (p *partner) Machine() *coll.Machine { return nil }

func (p *partner) Exchange(_ int, out []byte, _ int, in []byte) error {
	p.exchanges++
	copy(in, out)
	return nil
}

func (p *partner) Send(int, []byte) error { p.others++; return nil }
func (p *partner) Recv(int, []byte) error { p.others++; return nil }

func (p *partner) Isend(int, []byte) (coll.Pending, error) { return p, nil }
func (p *partner) Irecv(int, []byte) (coll.Pending, error) { return p, nil }
func (p *partner) Wait() error                             { p.others++; return nil }

// TestTwoRanks: the most frequent operations of two ranks are one exchange, and small operations
// allocate nothing.
func TestTwoRanks(t *testing.T) {
	p, s := new(partner), new(coll.Scratch)
	in, out, two := make([]byte, 8), make([]byte, 8), make([]byte, 16)
	pieces, others := [][]byte{in, out}, [][]byte{make([]byte, 8), make([]byte, 8)}
	nb := coll.Neighbors{Sources: []int{1, 1}, Destinations: []int{1, 1}, Cartesian: true}
	f64 := datatype.Float64
	for name, tc := range map[string]struct {
		f        func() error
		exchange bool
	}{
		"barrier":   {func() error { return coll.Barrier(p, coll.Auto) }, true},
		"allreduce": {func() error { return coll.Allreduce(p, in, out, f64, 1, reduce.Sum, s, coll.Auto) }, true},
		"allreduce in place": {func() error {
			return coll.Allreduce(p, nil, out, f64, 1, reduce.Max, s, coll.Auto)
		}, true},
		"allgather":      {func() error { return coll.Allgather(p, in, two, s, coll.Auto) }, true},
		"alltoall":       {func() error { return coll.Alltoall(p, two[:8], in, s, coll.Auto) }, true},
		"alltoallv":      {func() error { return coll.Alltoallv(p, pieces, others, s, coll.Auto) }, true},
		"reduce-scatter": {func() error { return coll.ReduceScatterBlock(p, two, out, f64, 1, reduce.Sum, s, coll.Auto) }, true},
		"bcast":          {func() error { return coll.Bcast(p, in, 0, s, coll.Auto) }, false},
		"reduce":         {func() error { return coll.Reduce(p, in, out, f64, 1, reduce.Sum, 0, s, coll.Auto) }, false},
		"gather":         {func() error { return coll.Gather(p, in, two, 0, s, coll.Auto) }, false},
		"gatherv":        {func() error { return coll.Gatherv(p, in, pieces, 0, s) }, false},
		"scatter":        {func() error { return coll.Scatter(p, two, out, 0, s, coll.Auto) }, false},
		"scan":           {func() error { return coll.Scan(p, in, out, f64, 1, reduce.Sum, s, coll.Auto) }, false},
		"exscan":         {func() error { return coll.Exscan(p, in, out, f64, 1, reduce.Sum, s, coll.Auto) }, false},
		"neighbours":     {func() error { return coll.NeighborAlltoall(p, in, out, nb, s).Land() }, false},
	} {
		*p = partner{}
		require.NoError(t, tc.f(), name)
		if tc.exchange {
			assert.Equal(t, partner{exchanges: 1}, *p, name)
		} else {
			assert.Zero(t, p.exchanges, name)
		}
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			if err := tc.f(); err != nil {
				panic(err)
			}
		}), name)
	}
}

// TestMessages: the algorithms send as many messages and bytes as they should.
func TestMessages(t *testing.T) {
	const n, length = 8, 800
	op, ty, count := operators[0].op, operators[0].t, length/operators[0].t.Size()
	for name, tc := range map[string]struct {
		f               func(c coll.Comm) error
		messages, bytes int
	}{
		"dissemination": {func(c coll.Comm) error { return coll.Barrier(c, coll.Dissemination) }, 3 * n, 0},
		"binomial":      {func(c coll.Comm) error { return coll.Barrier(c, coll.Binomial) }, 2 * (n - 1), 0},
		"tree":          {func(c coll.Comm) error { return coll.Bcast(c, make([]byte, length), 3, nil, coll.Binomial) }, n - 1, (n - 1) * length},
		"van de Geijn": {func(c coll.Comm) error { return coll.Bcast(c, make([]byte, length), 3, nil, coll.ScatterRing) },
			n - 1 + n*(n-1), 3*length/2 + (n-1)*length},
		"bruck": {func(c coll.Comm) error {
			return coll.Alltoall(c, make([]byte, length), make([]byte, length), nil, coll.Bruck)
		}, 3 * n, n * 3 * length / 2},
		"doubling": {func(c coll.Comm) error {
			return coll.Allreduce(c, nil, make([]byte, length), ty, count, op, nil, coll.Doubling)
		}, 3 * n, 3 * n * length},
		"rabenseifner": {func(c coll.Comm) error {
			return coll.Allreduce(c, nil, make([]byte, length), ty, count, op, nil, coll.Rabenseifner)
		}, 6 * n, 2 * (n - 1) * length},
		"ring": {func(c coll.Comm) error {
			return coll.Allreduce(c, nil, make([]byte, length), ty, count, op, nil, coll.Ring)
		}, 2 * n * (n - 1), 2 * (n - 1) * length},
		"halving": {func(c coll.Comm) error {
			return coll.ReduceScatterBlock(c, nil, make([]byte, length), ty, count/n, op, nil, coll.Halving)
		}, 3 * n, (n - 1) * length},
	} {
		w := colltest.New(n, 7)
		require.NoError(t, w.Run(tc.f), name)
		assert.Equal(t, tc.messages, w.Messages(), name)
		assert.Equal(t, tc.bytes, w.Bytes(), name)
	}
}

// TestChoices: an unsuitable algorithm is replaced by a suitable one, and every automatic choice is
// in its table.
func TestChoices(t *testing.T) {
	require.Empty(t, coll.Algorithms("osmosis"))
	for _, op := range coll.Operations {
		require.NotEmpty(t, coll.Algorithms(op), op)
	}
	for _, n := range []int{1, 2, 3, 4, 7, 8, 9, 16, 17, 64, 1000, 1024} {
		for _, bytes := range []int{0, 1, 100, 300, 5 << 10, 20 << 10, 100 << 10, 300 << 10, 2 << 20, 100 << 20} {
			coll.CheckChoices(n, bytes)
		}
	}
}

// A faulty communicator fails its k-th message.
type faulty struct {
	coll.Comm
	left    int
	machine *coll.Machine
}

func (c *faulty) Machine() *coll.Machine { return c.machine }

var errFaulty = errors.New("faulty")

func (c *faulty) fails() error {
	c.left--
	if c.left < 0 {
		return errFaulty
	}
	return nil
}

func (c *faulty) Send(to int, b []byte) error {
	if err := c.fails(); err != nil {
		return err
	}
	return c.Comm.Send(to, b)
}

func (c *faulty) Recv(from int, b []byte) error {
	if err := c.fails(); err != nil {
		return err
	}
	return c.Comm.Recv(from, b)
}

func (c *faulty) Exchange(to int, out []byte, from int, in []byte) error {
	if err := c.fails(); err != nil {
		return err
	}
	return c.Comm.Exchange(to, out, from, in)
}

func (c *faulty) Isend(to int, b []byte) (coll.Pending, error) {
	if err := c.fails(); err != nil {
		return nil, err
	}
	return c.Comm.Isend(to, b)
}

func (c *faulty) Irecv(from int, b []byte) (coll.Pending, error) {
	if err := c.fails(); err != nil {
		return nil, err
	}
	return c.Comm.Irecv(from, b)
}

// TestErrors: if any message of an algorithm fails, the algorithm returns the error, and leaves no
// operation pending.
func TestErrors(t *testing.T) {
	const n, length = 5, 40
	op, ty, count := operators[0].op, operators[0].t, length/operators[0].t.Size()
	b := func(n int) []byte { return make([]byte, n) }
	at := []int{0, 0, 1, 1, 1}
	hosts := must(coll.NewHosts(at))
	pieces := func() [][]byte { return [][]byte{b(length), b(length), b(length), b(length), b(length)} }
	for op, f := range map[coll.Operation]func(c coll.Comm, choose coll.Choice) error{
		coll.OpBarrier:    func(c coll.Comm, choose coll.Choice) error { return coll.Barrier(c, choose) },
		coll.OpBcast:      func(c coll.Comm, choose coll.Choice) error { return coll.Bcast(c, b(length), 0, nil, choose) },
		coll.OpGather:     func(c coll.Comm, choose coll.Choice) error { return coll.Gather(c, b(8), b(8*n), 0, nil, choose) },
		coll.OpScatter:    func(c coll.Comm, choose coll.Choice) error { return coll.Scatter(c, b(8*n), b(8), 0, nil, choose) },
		coll.OpAllgather:  func(c coll.Comm, choose coll.Choice) error { return coll.Allgather(c, b(8), b(8*n), nil, choose) },
		coll.OpAllgatherv: func(c coll.Comm, choose coll.Choice) error { return coll.Allgatherv(c, nil, pieces(), nil, choose) },
		coll.OpAlltoall:   func(c coll.Comm, choose coll.Choice) error { return coll.Alltoall(c, b(8*n), b(8*n), nil, choose) },
		coll.OpAlltoallv: func(c coll.Comm, choose coll.Choice) error {
			return coll.Alltoallv(c, pieces(), pieces(), nil, choose)
		},
		coll.OpReduce: func(c coll.Comm, choose coll.Choice) error {
			return coll.Reduce(c, b(length), b(length), ty, count, op, 0, nil, choose)
		},
		coll.OpAllreduce: func(c coll.Comm, choose coll.Choice) error {
			return coll.Allreduce(c, nil, b(length), ty, count, op, nil, choose)
		},
		coll.OpReduceScatter: func(c coll.Comm, choose coll.Choice) error {
			return coll.ReduceScatterBlock(c, nil, b(length), ty, count/n, op, nil, choose)
		},
		coll.OpScan: func(c coll.Comm, choose coll.Choice) error {
			return coll.Scan(c, nil, b(length), ty, count, op, nil, choose)
		},
		coll.OpExscan: func(c coll.Comm, choose coll.Choice) error {
			return coll.Exscan(c, nil, b(length), ty, count, op, nil, choose)
		},
	} {
		for _, a := range coll.Algorithms(op) {
			for rank := range n {
				for after := 0; ; after++ {
					hit := false
					err := colltest.New(n, uint64(after)).On(at).Run(func(c coll.Comm) error {
						if c.Rank() != rank {
							return f(c, a.Name)
						}
						bad := &faulty{Comm: c, left: after}
						bad.machine = coll.NewMachine(bad, hosts, nil)
						err := f(bad, a.Name)
						hit = bad.left < 0
						assert.Equal(t, hit, errors.Is(err, errFaulty), "%s %s rank=%d after=%d", op, a.Name, rank, after)
						return err
					})
					if !hit {
						require.NoError(t, err)
						break
					}
					require.Error(t, err)
				}
			}
		}
	}
}

// TestTruncation: a rank that expects less than it gets says so.
func TestTruncation(t *testing.T) {
	err := colltest.New(2, 1).Run(func(c coll.Comm) error {
		return coll.Bcast(c, make([]byte, 10-c.Rank()), 0, nil, coll.Auto)
	})
	require.ErrorIs(t, err, errclass.Truncate)
}

package coll_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/colltest"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// TestHostsAreNumberedByTheirLowestRank: hosts are numbered in the order of their lowest ranks.
// Their names do not matter.
func TestHostsAreNumberedByTheirLowestRank(t *testing.T) {
	h, err := coll.NewHosts([]string{"d", "a", "d", "c", "a"})
	require.NoError(t, err)
	assert.Equal(t, 3, h.Size())
	assert.Equal(t, []int32{0, 1, 0, 2, 1}, h.Of())
	assert.Equal(t, "5 mixed ranks on 3 hosts", h.String())
	h, err = coll.NewHosts([]int{7, 7, 2})
	require.NoError(t, err)
	assert.Equal(t, "3 consecutive ranks on 2 hosts", h.String())
	_, err = coll.NewHosts([]int{})
	assert.ErrorIs(t, err, errclass.Arg)
}

// TestMachine: there is nothing to know where all ranks are on one host.
func TestMachine(t *testing.T) {
	one := must(coll.NewHosts([]int{5, 5}))
	none, err := coll.NewTuning(nil)
	require.NoError(t, err)
	assert.Nil(t, coll.NewMachine(new(partner), nil, nil))
	assert.Nil(t, coll.NewMachine(new(partner), one, nil))
	assert.NotNil(t, coll.NewMachine(new(partner), one, none))
	assert.NotNil(t, coll.NewMachine(new(partner), must(coll.NewHosts([]int{5, 6})), nil))
}

// TestBetweenHosts counts the messages between 4 hosts of 4 ranks each: as many as 4 ranks need.
func TestBetweenHosts(t *testing.T) {
	const n, length = 16, 48
	hosts := make([]int, n)
	for r := range hosts {
		hosts[r] = r % 4
	}
	consecutive := make([]int, n)
	for r := range consecutive {
		consecutive[r] = r / 4
	}
	b := func(n int) []byte { return make([]byte, n) }
	u8, xor := datatype.Uint8, reduce.BXor
	pieces := func() (list [][]byte) {
		for r := range n {
			list = append(list, b(r))
		}
		return list
	}
	for op, tc := range map[coll.Operation]struct {
		f    func(c coll.Comm) error
		want int
	}{
		coll.OpBarrier: {func(c coll.Comm) error { return coll.Barrier(c, coll.Hierarchical) }, 8},
		coll.OpBcast:   {func(c coll.Comm) error { return coll.Bcast(c, b(length), 7, nil, coll.Hierarchical) }, 3},
		coll.OpGather: {func(c coll.Comm) error {
			return coll.Gather(c, b(1), b(n), 7, nil, coll.Hierarchical)
		}, 3},
		coll.OpScatter: {func(c coll.Comm) error {
			return coll.Scatter(c, b(n), b(1), 7, nil, coll.Hierarchical)
		}, 3},
		coll.OpAllgather:  {func(c coll.Comm) error { return coll.Allgather(c, b(1), b(n), nil, coll.Hierarchical) }, 8},
		coll.OpAllgatherv: {func(c coll.Comm) error { return coll.Allgatherv(c, b(c.Rank()), pieces(), nil, coll.Hierarchical) }, 8},
		coll.OpAlltoall:   {func(c coll.Comm) error { return coll.Alltoall(c, b(n), b(n), nil, coll.Hierarchical) }, 12},
		coll.OpReduce: {func(c coll.Comm) error {
			return coll.Reduce(c, b(length), b(length), u8, length, xor, 7, nil, coll.Hierarchical)
		}, 3},
		coll.OpAllreduce: {func(c coll.Comm) error {
			return coll.Allreduce(c, nil, b(length), u8, length, xor, nil, coll.Hierarchical)
		}, 8},
		coll.OpReduceScatter: {func(c coll.Comm) error {
			return coll.ReduceScatterBlock(c, nil, b(n), u8, 1, xor, nil, coll.Hierarchical)
		}, 8},
		coll.OpScan: {func(c coll.Comm) error { return coll.Scan(c, nil, b(length), u8, length, xor, nil, coll.Hierarchical) }, 5},
		coll.OpExscan: {func(c coll.Comm) error {
			return coll.Exscan(c, nil, b(length), u8, length, xor, nil, coll.Hierarchical)
		}, 5},
	} {
		for _, a := range coll.Algorithms(op) {
			if a.Name != coll.Hierarchical {
				continue
			}
			assert.True(t, a.Hosts)
			at := hosts
			if a.InOrder {
				at = consecutive
			}
			w := colltest.New(n, 1).On(at)
			require.NoError(t, w.Run(tc.f), op)
			assert.Equal(t, tc.want, w.Between(), op)
		}
	}
}

// TestOrderOfRanks: where the ranks of a host are not consecutive, an operator that does not commute
// must not be applied host by host.
func TestOrderOfRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := &plain{n: 6, hosts: []int{0, 1, 0, 1, 0, 1}, rng: rng}
	op, ty := operators[2].op, operators[2].t
	require.False(t, op.Commutative())
	in := p.pieces(p.n, ty.Size(), false)
	p.run(t, func(c coll.Comm, s *coll.Scratch) error {
		out := junk(ty.Size())
		err := coll.Allreduce(c, in[c.Rank()], out, ty, 1, op, s, coll.Hierarchical)
		assert.Equal(t, folded(in, op, ty), out)
		return err
	})
}

// A crowd is rank 0 of four, two on each host. Its messages cost nothing.
type crowd struct {
	partner
	machine *coll.Machine
}

func (c *crowd) Size() int              { return 4 }
func (c *crowd) Machine() *coll.Machine { return c.machine }

// TestSmallHierarchical allocate nothing.
func TestSmallHierarchical(t *testing.T) {
	c, s := new(crowd), new(coll.Scratch)
	c.machine = coll.NewMachine(c, must(coll.NewHosts([]int{0, 0, 1, 1})), nil)
	in, out, four := make([]byte, 8), make([]byte, 8), make([]byte, 32)
	f64 := datatype.Float64
	for name, f := range map[string]func() error{
		"barrier":   func() error { return coll.Barrier(c, coll.Hierarchical) },
		"bcast":     func() error { return coll.Bcast(c, in, 0, s, coll.Hierarchical) },
		"reduce":    func() error { return coll.Reduce(c, in, out, f64, 1, reduce.Sum, 0, s, coll.Hierarchical) },
		"allreduce": func() error { return coll.Allreduce(c, in, out, f64, 1, reduce.Sum, s, coll.Hierarchical) },
		"allgather": func() error { return coll.Allgather(c, in, four, s, coll.Hierarchical) },
		"gather":    func() error { return coll.Gather(c, in, four, 0, s, coll.Hierarchical) },
		"alltoall":  func() error { return coll.Alltoall(c, four, make4, s, coll.Hierarchical) },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		}), name)
	}
}

var make4 = make([]byte, 32)

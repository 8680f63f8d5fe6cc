package scale

import (
	"fmt"
	"io"

	"github.com/viaduct-hpc/viaduct/internal/mpi/collsim"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// crossing is an operation for the table of crossings; size is what coll.Tuning counts.
type crossing struct {
	op coll.Operation
	// perRank: buffers have a piece of size bytes for each rank.
	perRank bool
	run     func(c coll.Comm, size int, in, out []byte, s *coll.Scratch, choose coll.Choice) error
}

var crossings = []crossing{
	{coll.OpBarrier, false, func(c coll.Comm, _ int, _, _ []byte, _ *coll.Scratch, choose coll.Choice) error {
		return coll.Barrier(c, choose)
	}},
	{coll.OpBcast, false, func(c coll.Comm, size int, in, _ []byte, s *coll.Scratch, choose coll.Choice) error {
		return coll.Bcast(c, in[:size], 0, s, choose)
	}},
	{coll.OpGather, true, func(c coll.Comm, size int, in, out []byte, s *coll.Scratch, choose coll.Choice) error {
		return coll.Gather(c, in[:size], out[:size*c.Size()], 0, s, choose)
	}},
	{coll.OpScatter, true, func(c coll.Comm, size int, in, out []byte, s *coll.Scratch, choose coll.Choice) error {
		return coll.Scatter(c, in[:size*c.Size()], out[:size], 0, s, choose)
	}},
	{coll.OpAllgather, true, func(c coll.Comm, size int, _, out []byte, s *coll.Scratch, choose coll.Choice) error {
		return coll.Allgather(c, nil, out[:size*c.Size()], s, choose)
	}},
	{coll.OpAlltoall, true, func(c coll.Comm, size int, in, out []byte, s *coll.Scratch, choose coll.Choice) error {
		return coll.Alltoall(c, in[:size*c.Size()], out[:size*c.Size()], s, choose)
	}},
	{coll.OpReduce, false, func(c coll.Comm, size int, in, out []byte, s *coll.Scratch, choose coll.Choice) error {
		return coll.Reduce(c, in[:size], out[:size], datatype.Uint64, size/wordBytes, reduce.BAnd, 0, s, choose)
	}},
	{coll.OpAllreduce, false, func(c coll.Comm, size int, _, out []byte, s *coll.Scratch, choose coll.Choice) error {
		return coll.Allreduce(c, nil, out[:size], datatype.Uint64, size/wordBytes, reduce.BAnd, s, choose)
	}},
	{coll.OpReduceScatter, false, func(c coll.Comm, size int, in, out []byte, s *coll.Scratch, choose coll.Choice) error {
		n, words := c.Size(), size/wordBytes
		counts := make([]int, n)
		for r := range counts {
			counts[r] = (words + r) / n
		}
		return coll.ReduceScatter(c, in[:size], out[:counts[c.Rank()]*wordBytes], counts, datatype.Uint64, reduce.BAnd, s, choose)
	}},
	{coll.OpScan, false, func(c coll.Comm, size int, _, out []byte, s *coll.Scratch, choose coll.Choice) error {
		return coll.Scan(c, nil, out[:size], datatype.Uint64, size/wordBytes, reduce.BAnd, s, choose)
	}},
}

// bufferBytesMax limits the buffers of a rank in the table of crossings.
const bufferBytesMax = 4 << 20

// Crossings writes, for machines of several shapes, how many times as fast as the algorithms for
// ranks of unknown hosts the hierarchical ones are, by size. The thresholds in coll/choose.go are
// from here.
func Crossings(w io.Writer) error {
	in, out := make([]byte, bufferBytesMax), make([]byte, bufferBytesMax)
	for _, x := range crossings {
		for _, hosts := range []int{2, 3, 8, 30, 64} {
			for _, local := range []int{8, 24, 32} {
				fmt.Fprintf(w, "%-14s %2d hosts of %2d:", x.op, hosts, local)
				if err := x.line(w, hosts, local, in, out); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (x crossing) line(w io.Writer, hosts, local int, in, out []byte) error {
	n := network
	n.RanksPerHost = local
	p := hosts * local
	for size := wordBytes; size <= bufferBytesMax; size *= 4 {
		if x.perRank && size*p > bufferBytesMax || x.op == coll.OpBarrier && size > wordBytes {
			break
		}
		var took [2]float64
		for i, choose := range []coll.Choice{coll.Auto, coll.Hierarchical} {
			r, err := collsim.Run(n, collsim.Job{Ranks: p, Hierarchy: choose != coll.Auto, Run: func(c coll.Comm, s *coll.Scratch) error {
				return x.run(c, size, in, out, s, choose)
			}})
			if err != nil {
				return err
			}
			took[i] = float64(r.Time)
		}
		fmt.Fprintf(w, " %d:%.2f", size, took[0]/took[1])
	}
	_, err := fmt.Fprintln(w)
	return err
}

package main

import (
	"context"
	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/cg"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// A space holds this process's elements of the vectors. To multiply, it needs ghosts: elements of
// other processes. The processes form a graph, whose edges lead from the owner of an element to the
// processes that need it.
type space struct {
	ctx   context.Context // of the whole solution
	graph *mpi.Comm
	part  *cg.Part

	given []int     // own elements to send, those for the first neighbour first
	gives []int     // how many each neighbour gets
	takes []int     // how many ghosts come from each
	out   []float64 // elements to send
	local []float64 // own elements, then ghosts
}

var _ cg.Space = (*space)(nil)

// newSpace finds out which process needs which elements of which: every process tells the others
// the columns that it needs.
func newSpace(ctx context.Context, w *mpi.Comm, rows *cg.Rows, bounds []int) (*space, error) {
	part, err := cg.NewPart(rows, bounds)
	if err != nil {
		return nil, err
	}
	asked := make([]int, w.Size()) // how many elements each process needs of this one
	if err := w.Alltoall(ctx, mpi.Slice(part.Want), mpi.Slice(asked)); err != nil {
		return nil, err
	}
	wanted := make([]int, total(asked))
	if err := w.Alltoall(ctx, mpi.Slice(part.Ghosts).Parts(part.Want, nil), mpi.Slice(wanted).Parts(asked, nil)); err != nil {
		return nil, err
	}
	s := &space{ctx: ctx, part: part, out: make([]float64, len(wanted)), local: make([]float64, part.Own+len(part.Ghosts))}
	if s.given, err = cg.Asked(wanted, rows.First, part.Own); err != nil {
		return nil, err
	}
	var from, to []int
	from, s.takes = positive(part.Want)
	to, s.gives = positive(asked)
	s.graph, err = w.DistGraphCreateAdjacent(ctx, from, nil, to, nil, nil, false)
	return s, err
}

// positive returns the ranks whose counts are not 0, and these counts.
func positive(counts []int) (ranks, their []int) {
	for rank, n := range counts {
		if n > 0 {
			ranks, their = append(ranks, rank), append(their, n)
		}
	}
	return ranks, their
}

// Dot implements cg.Space.
func (s *space) Dot(a, b []float64) (float64, error) {
	sum := cg.Dot(a, b)
	err := s.graph.Allreduce(s.ctx, mpi.InPlace, mpi.Value(&sum), mpi.Sum)
	return sum, err
}

// Multiply implements cg.Space.
func (s *space) Multiply(y, x []float64) error {
	for i, at := range s.given {
		s.out[i] = x[at]
	}
	copy(s.local, x)
	ghosts := s.local[s.part.Own:]
	if err := s.graph.NeighborAlltoall(s.ctx, mpi.Slice(s.out).Parts(s.gives, nil), mpi.Slice(ghosts).Parts(s.takes, nil)); err != nil {
		return err
	}
	s.part.Rows.Multiply(y, s.local)
	return nil
}

func total(counts []int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}

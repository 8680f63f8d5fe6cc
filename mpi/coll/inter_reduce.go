package coll

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// InterReduce combines the count elements of every in of the other group into the
// root's out (MPI-4.1, 6.9.1). If op does not commute, it combines in rank order.
// in matters in the group that sends, out at the root.
func InterReduce(c Remote, in, out []byte, t *datatype.Type, count int, op *reduce.Op, root int, s *Scratch, choose Choice) error {
	if err := checkInterRoot(c, root); err != nil {
		return err
	}
	_, bytes, err := newReduction(t, count, op)
	if err != nil {
		return err
	}
	switch root {
	case ProcNull:
		return nil
	case Root:
		if err := checkLen("the root's out", len(out), bytes); err != nil {
			return err
		}
		return recvSome(c, leader, out)
	}
	defer s.release(s.mark())
	ours, err := interReduced(c, in, bytes, t, count, op, s, choose)
	if err != nil || c.Rank() != leader {
		return err
	}
	return sendSome(c, root, ours)
}

// interReduced returns the local group's result at its leader, in memory of s.
func interReduced(c Remote, in []byte, bytes int, t *datatype.Type, count int, op *reduce.Op, s *Scratch, choose Choice) (ours []byte, err error) {
	if c.Rank() == leader {
		ours = s.bytes(bytes)
		if err := contribution(in, ours, bytes); err != nil {
			return nil, err
		}
		in = nil
	}
	return ours, Reduce(c.Local(), in, ours, t, count, op, leader, s, reduces.or(choose))
}

// InterAllreduce combines the count elements of every in of a group into the out of
// every rank of the other group (MPI-4.1, 6.9.6). If op does not commute, it
// combines in rank order.
func InterAllreduce(c Remote, in, out []byte, t *datatype.Type, count int, op *reduce.Op, s *Scratch, choose Choice) error {
	_, bytes, err := newReduction(t, count, op)
	if err != nil {
		return err
	}
	if err := checkLen("out", len(out), bytes); err != nil {
		return err
	}
	defer s.release(s.mark())
	ours, err := interReduced(c, in, bytes, t, count, op, s, choose)
	if err != nil {
		return err
	}
	if c.Rank() == leader {
		if err := exchangeSome(c, leader, ours, leader, out); err != nil {
			return err
		}
	}
	return Bcast(c.Local(), out, leader, s, bcasts.or(choose))
}

// InterReduceScatter combines the vectors of each group and scatters the result over the other
// group (MPI-4.1, 6.10.2). Rank r of the local group gets counts[r] elements. The counts of both
// groups have the same sum, which is the length of every in.
func InterReduceScatter(c Remote, in, out []byte, counts []int, t *datatype.Type, op *reduce.Op, s *Scratch, choose Choice) error {
	n, rank := c.Size(), c.Rank()
	sum, err := checkCounts(counts, n)
	if err != nil {
		return err
	}
	r, bytes, err := newReduction(t, sum, op)
	if err != nil {
		return err
	}
	if err := checkLen("out", len(out), counts[rank]*r.size); err != nil {
		return err
	}
	defer s.release(s.mark())
	ours, err := interReduced(c, in, bytes, t, sum, op, s, choose)
	if err != nil {
		return err
	}
	if rank != leader {
		return Scatterv(c.Local(), nil, out, leader, s)
	}
	theirs := s.bytes(bytes)
	if err := exchangeSome(c, leader, ours, leader, theirs); err != nil {
		return err
	}
	p := parts{n: n, size: r.size, counts: counts}
	pieces := make([][]byte, n)
	for i := range pieces {
		pieces[i] = p.of(theirs, i, i+1)
	}
	return Scatterv(c.Local(), pieces, out, leader, s)
}

// InterReduceScatterBlock is InterReduceScatter where every rank of the local group
// gets count elements (MPI-4.1, 6.10.1).
func InterReduceScatterBlock(c Remote, in, out []byte, t *datatype.Type, count int, op *reduce.Op, s *Scratch, choose Choice) error {
	if _, err := product(count, c.Size()); err != nil {
		return err
	}
	counts := make([]int, c.Size())
	for i := range counts {
		counts[i] = count
	}
	return InterReduceScatter(c, in, out, counts, t, op, s, Auto)
}

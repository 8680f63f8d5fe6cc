package coll

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// buf holds the contribution first and the result at the end.
type scanFunc = func(c Comm, r reduction, buf []byte, s *Scratch) error

var scans = table[scanFunc]{
	{name: Linear, run: scanLinear},
	{name: Doubling, run: scanDoubling},
}

var exscans = table[scanFunc]{
	{name: Linear, run: exscanLinear},
	{name: Doubling, run: exscanDoubling},
}

// Scan combines the count elements of the in of ranks 0 to the caller's, in rank
// order, with op into out (MPI-4.1, 6.11.1). If in is nil, the contribution is in
// out.
func Scan(c Comm, in, out []byte, t *datatype.Type, count int, op *reduce.Op, s *Scratch, choose Choice) error {
	return prefix(c, OpScan, scans, in, out, t, count, op, s, choose)
}

// Exscan is Scan without the caller's own contribution (MPI-4.1, 6.11.2). Rank 0
// has no result; its out does not change unless in is nil.
func Exscan(c Comm, in, out []byte, t *datatype.Type, count int, op *reduce.Op, s *Scratch, choose Choice) error {
	if c.Rank() == 0 && in != nil {
		defer s.release(s.mark())
		out = s.bytes(len(out)) // scratch memory instead of the caller's out, which must not change
	}
	return prefix(c, OpExscan, exscans, in, out, t, count, op, s, choose)
}

func prefix(c Comm, name Operation, algorithms table[scanFunc], in, out []byte, t *datatype.Type, count int, op *reduce.Op, s *Scratch, choose Choice) error {
	r, bytes, err := newReduction(t, count, op)
	if err != nil {
		return err
	}
	if err := contribution(in, out, bytes); err != nil {
		return err
	}
	run, err := algorithms.pick(c, choose, Doubling, need{name, bytes, op.Commutative()})
	if err != nil || c.Size() == 1 || bytes == 0 {
		return err
	}
	return run(c, r, out, s)
}

// scanLinear: every rank combines the previous rank's result with its own and
// passes it on.
func scanLinear(c Comm, r reduction, buf []byte, s *Scratch) error {
	defer s.release(s.mark())
	rank := c.Rank()
	if rank > 0 {
		got := s.bytes(len(buf))
		if err := c.Recv(rank-1, got); err != nil {
			return err
		}
		r.combine(buf, got, true)
	}
	if rank+1 < c.Size() {
		return c.Send(rank+1, buf)
	}
	return nil
}

// scanDoubling: buf stands for the caller and the d-1 ranks before it, if there are
// as many; the rank d before has the d ranks before those.
func scanDoubling(c Comm, r reduction, buf []byte, s *Scratch) error {
	defer s.release(s.mark())
	n, rank := c.Size(), c.Rank()
	got := s.bytes(len(buf))
	for d := 1; d < n; d <<= 1 {
		if err := shift(c, d, buf, got); err != nil {
			return err
		}
		if rank >= d {
			r.combine(buf, got, true)
		}
	}
	return nil
}

// shift sends to the rank d further and receives from the rank d before, if they
// exist.
func shift(c Comm, d int, out, in []byte) error {
	n, rank := c.Size(), c.Rank()
	switch {
	case rank >= d && rank+d < n:
		return c.Exchange(rank+d, out, rank-d, in)
	case rank >= d:
		return c.Recv(rank-d, in)
	case rank+d < n:
		return c.Send(rank+d, out)
	}
	return nil
}

func exscanLinear(c Comm, r reduction, buf []byte, s *Scratch) error {
	defer s.release(s.mark())
	n, rank := c.Size(), c.Rank()
	if rank == 0 {
		return c.Send(1, buf)
	}
	got := s.bytes(len(buf))
	if err := c.Recv(rank-1, got); err != nil {
		return err
	}
	if rank+1 < n {
		r.combine(buf, got, true)
		if err := c.Send(rank+1, buf); err != nil {
			return err
		}
	}
	copy(buf, got)
	return nil
}

// exscanDoubling is scanDoubling with two results, one of them without the caller's
// contribution.
func exscanDoubling(c Comm, r reduction, buf []byte, s *Scratch) error {
	defer s.release(s.mark())
	n, rank := c.Size(), c.Rank()
	all, got := s.bytes(len(buf)), s.bytes(len(buf))
	copy(all, buf)
	for d := 1; d < n; d <<= 1 {
		if err := shift(c, d, all, got); err != nil {
			return err
		}
		if rank < d {
			continue
		}
		r.combine(all, got, true)
		if d == 1 {
			copy(buf, got)
		} else {
			r.combine(buf, got, true)
		}
	}
	return nil
}

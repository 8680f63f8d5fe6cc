package coll

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// buf holds the contribution first and the result at the end.
type allreduceFunc = func(c Comm, r reduction, buf []byte, s *Scratch) error

var allreduces = table[allreduceFunc]{
	{name: Linear, run: allreduceLinear},
	{name: Binomial, run: allreduceBinomial},
	{name: Doubling, run: allreduceDoubling},
	{name: Rabenseifner, run: allreduceRabenseifner},
	{name: Ring, run: allreduceRing, commutative: true},
}

// Allreduce combines the count elements of every rank's in with op into the out of
// every rank (MPI-4.1, 6.9.6). If op does not commute, it combines in rank order. If
// in is nil on all ranks, the contribution is in out.
func Allreduce(c Comm, in, out []byte, t *datatype.Type, count int, op *reduce.Op, s *Scratch, choose Choice) error {
	r, bytes, err := newReduction(t, count, op)
	if err != nil {
		return err
	}
	if err := contribution(in, out, bytes); err != nil {
		return err
	}
	n, commutes := c.Size(), op.Commutative()
	auto := chooseAllreduce(n, bytes, commutes)
	if choose == Auto && auto == Doubling && bytes > 0 && c.Machine() == nil {
		return allreduceDoubling(c, r, out, s) // also for one rank, where it does nothing
	}
	run, err := allreduces.pick(c, choose, auto, need{OpAllreduce, bytes, commutes})
	if err != nil || n == 1 || bytes == 0 {
		return err
	}
	return run(c, r, out, s)
}

func allreduceLinear(c Comm, r reduction, buf []byte, s *Scratch) error {
	var out []byte
	if c.Rank() == 0 {
		out = buf
	}
	if err := reduceLinear(c, r, buf, out, 0, s); err != nil {
		return err
	}
	return bcastLinear(c, buf, 0, s)
}

// allreduceBinomial reduces along a tree and broadcasts along the same tree. It
// needs the fewest messages, 2(n-1), which is good for ranks that share cores.
func allreduceBinomial(c Comm, r reduction, buf []byte, s *Scratch) error {
	var out []byte
	if c.Rank() == 0 {
		out = buf
	}
	if err := reduceBinomial(c, r, buf, out, 0, s); err != nil {
		return err
	}
	return bcastBinomial(c, buf, 0, s)
}

// allreduceDoubling exchanges the whole vector with partners of a team at distance
// 1, 2, 4, ... On two ranks it is one exchange.
func allreduceDoubling(c Comm, r reduction, buf []byte, s *Scratch) error {
	defer s.release(s.mark())
	tm := newTeam(c)
	tmp := s.bytes(len(buf))
	if err := tm.enlist(c, r, buf, tmp); err != nil {
		return err
	}
	if tm.me >= 0 {
		for mask := 1; mask < tm.n; mask <<= 1 {
			partner := tm.me ^ mask
			p := tm.rank(partner)
			if err := c.Exchange(p, buf, p, tmp); err != nil {
				return err
			}
			r.combine(buf, tmp, partner < tm.me)
		}
	}
	return tm.dismiss(c, buf)
}

// allreduceRabenseifner reduces by halves, and gathers the blocks on the same way
// back. Every rank sends and receives less than twice the vector.
func allreduceRabenseifner(c Comm, r reduction, buf []byte, s *Scratch) error {
	defer s.release(s.mark())
	tm := newTeam(c)
	b := blocks{count: len(buf) / r.size, size: r.size, n: tm.n}
	tmp := s.bytes(tm.spare(b))
	if err := tm.enlist(c, r, buf, tmp); err != nil {
		return err
	}
	if tm.me >= 0 {
		block, err := tm.halve(c, r, b, buf, tmp)
		if err != nil {
			return err
		}
		if err := tm.unhalve(c, b, buf, block); err != nil {
			return err
		}
	}
	return tm.dismiss(c, buf)
}

// allreduceRing sends every block once around to be reduced, and once around with
// the result. Each block is combined beginning at a different rank, so the operator
// must commute.
func allreduceRing(c Comm, r reduction, buf []byte, s *Scratch) error {
	defer s.release(s.mark())
	n, rank := c.Size(), c.Rank()
	b := blocks{count: len(buf) / r.size, size: r.size, n: n}
	next, before := (rank+1)%n, (rank-1+n)%n
	tmp := s.bytes(b.at(1))
	for k := range n - 1 {
		out, in := (rank-k+n)%n, (rank-k-1+n)%n
		keep := b.of(buf, in, in+1)
		got := tmp[:len(keep)]
		if err := exchangeSome(c, next, b.of(buf, out, out+1), before, got); err != nil {
			return err
		}
		r.combine(keep, got, true)
	}
	return ringBlocks(c, b, buf, next)
}

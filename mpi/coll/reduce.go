package coll

import (
	"math/bits"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// out is nil except at the root, where in may be the same as out.
type reduceFunc = func(c Comm, r reduction, in, out []byte, root int, s *Scratch) error

var reduces = table[reduceFunc]{
	{name: Linear, run: reduceLinear},
	{name: Binomial, run: reduceBinomial},
	{name: Rabenseifner, run: reduceRabenseifner},
}

// Reduce combines the count elements of every rank's in with op into the root's out
// (MPI-4.1, 6.9.1). If op does not commute, it combines in rank order. If in is nil
// at the root, the root's contribution is in out. On other ranks out does not
// matter.
func Reduce(c Comm, in, out []byte, t *datatype.Type, count int, op *reduce.Op, root int, s *Scratch, choose Choice) error {
	n := c.Size()
	if err := checkRoot(root, n); err != nil {
		return err
	}
	r, bytes, err := newReduction(t, count, op)
	if err != nil {
		return err
	}
	switch {
	case c.Rank() != root:
		out = nil
		err = checkLen("in", len(in), bytes)
	case in == nil:
		in = out
		err = checkLen("the root's out", len(out), bytes)
	default:
		err = contribution(in, out, bytes)
	}
	if err != nil {
		return err
	}
	run, err := reduces.pick(c, choose, chooseReduce(n, bytes, count), need{OpReduce, bytes, op.Commutative()})
	if err != nil || n == 1 || bytes == 0 {
		return err
	}
	return run(c, r, in, out, root, s)
}

// reduceLinear: the root receives every contribution and combines them from last to
// first.
func reduceLinear(c Comm, r reduction, in, out []byte, root int, s *Scratch) error {
	if c.Rank() != root {
		return c.Send(root, in)
	}
	defer s.release(s.mark())
	acc, got := s.bytes(len(in)), s.bytes(len(in))
	n := c.Size()
	for rank := n - 1; rank >= 0; rank-- {
		part := got
		if rank == n-1 {
			part = acc
		}
		if rank == root {
			copy(part, in)
		} else if err := c.Recv(rank, part); err != nil {
			return err
		}
		if rank < n-1 {
			r.combine(acc, part, true)
		}
	}
	copy(out, acc)
	return nil
}

// reduceBinomial combines along a tree. If the operator does not commute, rank 0 is
// at the top of the tree, each subtree has consecutive ranks, and rank 0 sends the
// result to the root.
func reduceBinomial(c Comm, r reduction, in, out []byte, root int, s *Scratch) error {
	defer s.release(s.mark())
	n, rank := c.Size(), c.Rank()
	top := root
	if !r.op.Commutative() {
		top = 0
	}
	v := fromRoot(rank, top, n)
	acc := in // until there is something to combine
	var got []byte
	mask := 1
	for ; mask < n && v&mask == 0; mask <<= 1 {
		child := v | mask
		if child >= n {
			continue
		}
		if got == nil {
			got = s.bytes(len(in))
			acc = out
			if acc == nil {
				acc = s.bytes(len(in))
				copy(acc, in)
			}
		}
		if err := c.Recv(ranked(child, top, n), got); err != nil {
			return err
		}
		r.combine(acc, got, false)
	}
	switch {
	case v != 0:
		if err := c.Send(ranked(v&^mask, top, n), acc); err != nil {
			return err
		}
	case top != root:
		return c.Send(root, acc)
	}
	if rank == root && top != root {
		return c.Recv(top, out)
	}
	return nil
}

// reduceRabenseifner reduces by halves (Rabenseifner: "Optimization of Collective
// Reduction Operations", 2004) and collects the blocks at the root.
func reduceRabenseifner(c Comm, r reduction, in, out []byte, root int, s *Scratch) error {
	defer s.release(s.mark())
	tm := newTeam(c)
	b := blocks{count: len(in) / r.size, size: r.size, n: tm.n}
	buf := out
	if buf == nil {
		buf = s.bytes(len(in))
		copy(buf, in)
	}
	tmp := s.bytes(tm.spare(b))
	if err := tm.enlist(c, r, buf, tmp); err != nil {
		return err
	}
	block := -1
	if tm.me >= 0 {
		var err error
		if block, err = tm.halve(c, r, b, buf, tmp); err != nil {
			return err
		}
	}
	if c.Rank() != root {
		if block < 0 {
			return nil
		}
		return sendSome(c, root, b.of(buf, block, block+1))
	}
	f := s.flight()
	for i := range tm.n {
		if i == tm.me {
			continue
		}
		at := reversed(i, tm.n)
		f.recv(c, tm.rank(i), b.of(out, at, at+1))
	}
	return f.Land()
}

// reversed returns i with its bits reversed, as an index below n, a power of two.
func reversed(i, n int) int {
	if n == 1 {
		return 0
	}
	return int(bits.Reverse64(uint64(i)) >> (64 - bits.Len(uint(n-1))))
}

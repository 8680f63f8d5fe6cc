package coll

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// parts says how a vector is divided among ranks: rank i gets counts[i] elements,
// or block elements if counts is nil.
type parts struct {
	n, size int // ranks, bytes of an element
	block   int
	counts  []int
}

// at returns the offset of rank i's part in bytes, for 0 ≤ i ≤ n.
func (p parts) at(i int) int {
	if p.counts == nil {
		return i * p.block * p.size
	}
	sum := 0
	for _, k := range p.counts[:i] {
		sum += k
	}
	return sum * p.size
}

// count returns the number of rank i's elements.
func (p parts) count(i int) int {
	if p.counts == nil {
		return p.block
	}
	return p.counts[i]
}

// of returns the parts of ranks i to j-1.
func (p parts) of(buf []byte, i, j int) []byte { return buf[p.at(i):p.at(j)] }

// in is the rank's whole vector, which does not change; out receives its part of
// the result.
type reduceScatterFunc = func(c Comm, r reduction, p parts, in, out []byte, s *Scratch) error

var reduceScatters = table[reduceScatterFunc]{
	{name: Linear, run: reduceScatterLinear},
	{name: Spread, run: reduceScatterSpread},
	{name: Pairwise, run: reduceScatterPairwise, commutative: true},
	{name: Halving, run: reduceScatterHalving, commutative: true},
}

// ReduceScatter combines the vectors of all ranks with op, and stores rank r's
// counts[r] elements of the result in its out (MPI-4.1, 6.10.2). If op does not
// commute, it combines in rank order. in has the elements of all counts. If in is
// nil on all ranks, out has the whole vector, and the result is stored at its
// beginning.
func ReduceScatter(c Comm, in, out []byte, counts []int, t *datatype.Type, op *reduce.Op, s *Scratch, choose Choice) error {
	sum, err := checkCounts(counts, c.Size())
	if err != nil {
		return err
	}
	return reduceScatter(c, in, out, parts{n: c.Size(), counts: counts}, sum, t, op, s, choose)
}

// ReduceScatterBlock is ReduceScatter where every rank gets count elements
// (MPI-4.1, 6.10.1).
func ReduceScatterBlock(c Comm, in, out []byte, t *datatype.Type, count int, op *reduce.Op, s *Scratch, choose Choice) error {
	sum, err := product(count, c.Size())
	if err != nil {
		return err
	}
	return reduceScatter(c, in, out, parts{n: c.Size(), block: count}, sum, t, op, s, choose)
}

func reduceScatter(c Comm, in, out []byte, p parts, sum int, t *datatype.Type, op *reduce.Op, s *Scratch, choose Choice) error {
	r, bytes, err := newReduction(t, sum, op)
	if err != nil {
		return err
	}
	p.size = r.size
	mine := p.at(c.Rank()+1) - p.at(c.Rank())
	inPlace := in == nil
	if inPlace {
		in = out
	} else if err := checkLen("out", len(out), mine); err != nil {
		return err
	}
	if err := checkLen("the whole vector", len(in), bytes); err != nil {
		return err
	}
	run, err := reduceScatters.pick(c, choose, chooseReduceScatter(p.n, bytes, op.Commutative()), need{OpReduceScatter, bytes, op.Commutative()})
	if err != nil || bytes == 0 {
		return err
	}
	if p.n == 1 {
		copy(out, in)
		return nil
	}
	defer s.release(s.mark())
	result := out
	if inPlace {
		result = s.bytes(mine)
	}
	if err := run(c, r, p, in, result, s); err != nil {
		return err
	}
	if inPlace {
		copy(out, result)
	}
	return nil
}

// reduceScatterLinear reduces to rank 0, which scatters the parts.
func reduceScatterLinear(c Comm, r reduction, p parts, in, out []byte, s *Scratch) error {
	defer s.release(s.mark())
	if c.Rank() != 0 {
		if err := reduceLinear(c, r, in, nil, 0, s); err != nil {
			return err
		}
		return recvSome(c, 0, out)
	}
	all := s.bytes(len(in))
	if err := reduceLinear(c, r, in, all, 0, s); err != nil {
		return err
	}
	copy(out, all)
	for rank := 1; rank < p.n; rank++ {
		if err := sendSome(c, rank, p.of(all, rank, rank+1)); err != nil {
			return err
		}
	}
	return nil
}

// reduceScatterSpread: every rank receives all contributions to its part, and
// combines them in rank order.
func reduceScatterSpread(c Comm, r reduction, p parts, in, out []byte, s *Scratch) error {
	defer s.release(s.mark())
	rank := c.Rank()
	piece := len(out)
	all := s.bytes(p.n * piece)
	copy(all[rank*piece:(rank+1)*piece], p.of(in, rank, rank+1))
	f := s.flight()
	for k := 1; k < p.n; k++ {
		from := (rank - k + p.n) % p.n
		f.recv(c, from, all[from*piece:(from+1)*piece])
	}
	for k := 1; k < p.n; k++ {
		to := (rank + k) % p.n
		f.send(c, to, p.of(in, to, to+1))
	}
	if err := f.Land(); err != nil {
		return err
	}
	acc := all[(p.n-1)*piece:]
	for from := p.n - 2; from >= 0; from-- {
		r.combine(acc, all[from*piece:(from+1)*piece], true)
	}
	copy(out, acc)
	return nil
}

// reduceScatterPairwise: in round k every rank sends the rank k further the part
// that this rank needs. Every rank sends each byte of its vector at most once.
func reduceScatterPairwise(c Comm, r reduction, p parts, in, out []byte, s *Scratch) error {
	defer s.release(s.mark())
	rank := c.Rank()
	copy(out, p.of(in, rank, rank+1))
	got := s.bytes(len(out))
	for k := 1; k < p.n; k++ {
		to, from := (rank+k)%p.n, (rank-k+p.n)%p.n
		if err := exchangeSome(c, to, p.of(in, to, to+1), from, got); err != nil {
			return err
		}
		r.combine(out, got, true)
	}
	return nil
}

// reduceScatterHalving exchanges half of the remaining parts with a partner in the other half of a
// team, so that in the end every member has the parts of the ranks that it represents.
func reduceScatterHalving(c Comm, r reduction, p parts, in, out []byte, s *Scratch) error {
	defer s.release(s.mark())
	tm := newTeam(c)
	buf, tmp := s.bytes(len(in)), s.bytes(len(in))
	copy(buf, in)
	if err := tm.enlist(c, r, buf, tmp); err != nil {
		return err
	}
	rank := c.Rank()
	if tm.me < 0 {
		return recvSome(c, rank+1, out)
	}
	lo, hi := 0, tm.n
	for mask := tm.n >> 1; mask > 0; mask >>= 1 {
		mid := (lo + hi) / 2
		give := p.of(buf, tm.first(mid), tm.first(hi))
		keep := p.of(buf, tm.first(lo), tm.first(mid))
		if tm.me&mask != 0 {
			give, keep = keep, give
			lo = mid
		} else {
			hi = mid
		}
		partner := tm.rank(tm.me ^ mask)
		got := tmp[:len(keep)]
		if err := exchangeSome(c, partner, give, partner, got); err != nil {
			return err
		}
		r.combine(keep, got, true)
	}
	copy(out, p.of(buf, rank, rank+1))
	if tm.me < tm.extra {
		return sendSome(c, rank-1, p.of(buf, rank-1, rank))
	}
	return nil
}

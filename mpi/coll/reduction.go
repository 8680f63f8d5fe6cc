package coll

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// A reduction combines the elements of vectors.
type reduction struct {
	t    *datatype.Type
	op   *reduce.Op
	size int // packed bytes of an element
}

// newReduction checks the arguments that all reductions have; bytes is the length
// of the whole vector.
func newReduction(t *datatype.Type, count int, op *reduce.Op) (r reduction, bytes int, err error) {
	if err := op.ValidFor(t); err != nil {
		return r, 0, err
	}
	r = reduction{t: t, op: op, size: t.Size()}
	bytes, err = product(count, r.size)
	return r, bytes, err
}

// combine combines got, from other ranks, into acc, in rank order: acc = got OP acc
// if got is from lower ranks, otherwise acc = acc OP got, which also changes got.
// Operators that commute except for rounding are applied in rank order too: ranks
// that compute the same result must get the same bits.
func (r reduction) combine(acc, got []byte, lower bool) {
	if len(acc) == 0 {
		return
	}
	count := len(acc) / r.size
	if lower || r.op.Exact() {
		r.op.Apply(acc, got, r.t, count)
		return
	}
	r.op.Apply(got, acc, r.t, count)
	copy(acc, got)
}

// contribution makes out begin as the rank's contribution. If in is nil, it is in
// out already.
func contribution(in, out []byte, bytes int) error {
	if err := checkLen("out", len(out), bytes); err != nil {
		return err
	}
	if in == nil {
		return nil
	}
	if err := checkLen("in", len(in), bytes); err != nil {
		return err
	}
	copy(out, in)
	return nil
}

// A team is the largest power of two of ranks, for algorithms by halves. If there
// are extra more ranks, the first 2*extra ranks are paired: the even rank of a pair
// sends its contribution to the odd one and waits. Members are in rank order, and
// so are the ranks that they stand for.
type team struct {
	n, extra int // members, and ranks beyond the power of two
	me       int // the caller's number, -1 for an even rank of a pair
}

func newTeam(c Comm) team {
	n, rank := c.Size(), c.Rank()
	tm := team{n: floorPowerOfTwo(n)}
	tm.extra = n - tm.n
	switch {
	case rank >= 2*tm.extra:
		tm.me = rank - tm.extra
	case rank%2 == 1:
		tm.me = rank / 2
	default:
		tm.me = -1
	}
	return tm
}

// rank returns the rank of member i.
func (tm team) rank(i int) int {
	if i < tm.extra {
		return 2*i + 1
	}
	return i + tm.extra
}

// first returns the lowest rank that member i stands for, for 0 ≤ i ≤ n.
func (tm team) first(i int) int {
	if i < tm.extra {
		return 2 * i
	}
	return i + tm.extra
}

// spare returns how much memory the caller needs to receive into while a vector of
// blocks is reduced by halves: the longest half, or the whole vector of the rank
// that waits for this one.
func (tm team) spare(b blocks) int {
	switch {
	case tm.me < 0:
		return 0
	case tm.me < tm.extra:
		return b.at(tm.n)
	}
	return b.at(tm.n / 2)
}

// enlist sends the contributions of the waiting ranks to their partners, which
// combine them into buf; tmp is receive memory.
func (tm team) enlist(c Comm, r reduction, buf, tmp []byte) error {
	rank := c.Rank()
	switch {
	case tm.me < 0:
		return c.Send(rank+1, buf)
	case tm.me < tm.extra:
		got := tmp[:len(buf)]
		if err := c.Recv(rank-1, got); err != nil {
			return err
		}
		r.combine(buf, got, true)
	}
	return nil
}

// dismiss sends the result to the waiting ranks.
func (tm team) dismiss(c Comm, buf []byte) error {
	rank := c.Rank()
	switch {
	case tm.me < 0:
		return c.Recv(rank+1, buf)
	case tm.me < tm.extra:
		return c.Send(rank-1, buf)
	}
	return nil
}

// halve reduces by halves: a member and its partner at distance 1 each take over
// one half of the vector, then those at distance 2 a quarter, and so on. It returns
// the block, one of tm.n, that is complete in the caller's buf: the member's number
// with its bits reversed. In this order of distances, partners stand for adjacent
// ranks, so operators need not commute. tmp has the length of the first half of the
// blocks, the longer one.
func (tm team) halve(c Comm, r reduction, b blocks, buf, tmp []byte) (block int, err error) {
	lo, hi := 0, tm.n
	for mask := 1; mask < tm.n; mask <<= 1 {
		partner := tm.me ^ mask
		mid := (lo + hi) / 2
		give, keep := b.of(buf, mid, hi), b.of(buf, lo, mid)
		if tm.me&mask != 0 {
			give, keep = keep, give
			lo = mid
		} else {
			hi = mid
		}
		p := tm.rank(partner)
		got := tmp[:len(keep)]
		if err := exchangeSome(c, p, give, p, got); err != nil {
			return 0, err
		}
		r.combine(keep, got, partner < tm.me)
	}
	return lo, nil
}

// unhalve gives every member all blocks, by the steps of halve in reverse.
func (tm team) unhalve(c Comm, b blocks, buf []byte, block int) error {
	lo, width := block, 1
	for mask := tm.n >> 1; mask > 0; mask >>= 1 {
		theirs := lo + width
		if tm.me&mask != 0 {
			theirs = lo - width
		}
		p := tm.rank(tm.me ^ mask)
		if err := exchangeSome(c, p, b.of(buf, lo, lo+width), p, b.of(buf, theirs, theirs+width)); err != nil {
			return err
		}
		lo, width = min(lo, theirs), 2*width
	}
	return nil
}

// checkCounts returns the sum of counts, or an error unless there is a valid count
// for each of n ranks.
func checkCounts(counts []int, n int) (sum int, err error) {
	if len(counts) != n {
		return 0, errclass.New(errclass.Count, "there are %d counts for %d ranks", len(counts), n)
	}
	for _, k := range counts {
		if k < 0 || sum+k < sum {
			return 0, errclass.New(errclass.Count, "a count of %d elements is negative, or all together are more than any memory", k)
		}
		sum += k
	}
	return sum, nil
}

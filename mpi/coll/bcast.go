package coll

type bcastFunc = func(c Comm, buf []byte, root int, s *Scratch) error

var bcasts = table[bcastFunc]{
	{name: Linear, run: bcastLinear},
	{name: Binomial, run: bcastBinomial},
	{name: Chain, run: bcastChain},
	{name: ScatterDoubling, run: bcastScatterDoubling, powerOfTwo: true},
	{name: ScatterRing, run: bcastScatterRing},
	{name: ScatterBruck, run: bcastScatterBruck},
}

// Bcast copies the root's buf to every rank (MPI-4.1, 6.4). len(buf) is the same on
// all ranks.
func Bcast(c Comm, buf []byte, root int, s *Scratch, choose Choice) error {
	n := c.Size()
	if err := checkRoot(root, n); err != nil {
		return err
	}
	run, err := bcasts.pick(c, choose, chooseBcast(n, len(buf), c.Machine().far()), need{OpBcast, len(buf), true})
	if err != nil || n == 1 || len(buf) == 0 {
		return err
	}
	return run(c, buf, root, s)
}

// From here on, v is a rank counted from the root: v = (rank-root) mod n, so the
// root is 0.

func fromRoot(rank, root, n int) int { return (rank - root + n) % n }
func ranked(v, root, n int) int      { return (v + root) % n }

// bcastLinear: the root sends to one rank after another.
func bcastLinear(c Comm, buf []byte, root int, _ *Scratch) error {
	if c.Rank() != root {
		return c.Recv(root, buf)
	}
	for r := range c.Size() {
		if r == root {
			continue
		}
		if err := c.Send(r, buf); err != nil {
			return err
		}
	}
	return nil
}

// bcastBinomial: v receives from v without its lowest set bit, and sends to the
// ranks that have one more bit below that bit, the farthest first.
func bcastBinomial(c Comm, buf []byte, root int, _ *Scratch) error {
	n := c.Size()
	v := fromRoot(c.Rank(), root, n)
	mask := 1
	for ; mask < n && v&mask == 0; mask <<= 1 {
	}
	if v != 0 {
		if err := c.Recv(ranked(v&^mask, root, n), buf); err != nil {
			return err
		}
	}
	for mask >>= 1; mask > 0; mask >>= 1 {
		if child := v | mask; child < n {
			if err := c.Send(ranked(child, root, n), buf); err != nil {
				return err
			}
		}
	}
	return nil
}

// bcastChain: every rank passes on segment after segment to the next one, and
// receives a segment while it sends the one before.
func bcastChain(c Comm, buf []byte, root int, _ *Scratch) error {
	n := c.Size()
	v := fromRoot(c.Rank(), root, n)
	before, next := ranked(v+n-1, root, n), ranked(v+1, root, n)
	var last []byte // received, and not yet passed on
	for len(buf) > 0 {
		segment := buf[:min(len(buf), bcastChainSegmentBytes)]
		buf = buf[len(segment):]
		var err error
		switch {
		case v == 0:
			err = c.Send(next, segment)
		case v == n-1 || last == nil:
			err = c.Recv(before, segment)
		default:
			err = c.Exchange(next, last, before, segment)
		}
		if err != nil {
			return err
		}
		last = segment
	}
	if v == 0 || v == n-1 {
		return nil
	}
	return c.Send(next, last)
}

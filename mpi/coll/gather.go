package coll

type gatherFunc = func(c Comm, in, out []byte, root int, s *Scratch) error

var gathers = table[gatherFunc]{
	{name: Linear, run: gatherLinear},
	{name: Binomial, run: gatherBinomial},
}

// Gather collects every rank's in, in rank order, into out at the root (MPI-4.1,
// 6.5). Every in has the same length. out matters only at the root, where it has
// that length times the number of ranks. If in is nil at the root, the root's piece
// is already in its place in out.
func Gather(c Comm, in, out []byte, root int, s *Scratch, choose Choice) error {
	n, piece := c.Size(), len(in)
	if err := checkRoot(root, n); err != nil {
		return err
	}
	if c.Rank() == root {
		if err := checkWhole("the root's out", len(out), n); err != nil {
			return err
		}
		piece = len(out) / n
		if in != nil {
			if err := checkLen("in", len(in), piece); err != nil {
				return err
			}
			copy(out[root*piece:], in)
		}
	}
	run, err := gathers.pick(c, choose, chooseGather(piece), need{OpGather, piece, true})
	if err != nil || n == 1 || piece == 0 {
		return err
	}
	return run(c, in, out, root, s)
}

// Gatherv is Gather with pieces of any length: out[r] is for the in of rank r. Only
// the root knows the lengths, so there is one algorithm: every rank sends to the
// root.
func Gatherv(c Comm, in []byte, out [][]byte, root int, s *Scratch) error {
	n := c.Size()
	if err := checkRoot(root, n); err != nil {
		return err
	}
	if c.Rank() != root {
		return sendSome(c, root, in)
	}
	if err := checkPieces("the root's out", len(out), n); err != nil {
		return err
	}
	if in != nil {
		if err := checkLen("in", len(in), len(out[root])); err != nil {
			return err
		}
		copy(out[root], in)
	}
	f := s.flight()
	for r := range n {
		if r != root {
			f.recv(c, r, out[r])
		}
	}
	return f.Land()
}

func gatherLinear(c Comm, in, out []byte, root int, s *Scratch) error {
	if c.Rank() != root {
		return c.Send(root, in)
	}
	n := c.Size()
	piece := len(out) / n
	f := s.flight()
	for r := range n {
		if r != root {
			f.recv(c, r, out[r*piece:(r+1)*piece])
		}
	}
	return f.Land()
}

// gatherBinomial: v collects the pieces of v to v+mask-1, its subtree, and
// sends them up in one message.
func gatherBinomial(c Comm, in, out []byte, root int, s *Scratch) error {
	n := c.Size()
	v := fromRoot(c.Rank(), root, n)
	if v == 0 {
		return gatherAtRoot(c, out, root, s)
	}
	defer s.release(s.mark())
	piece := len(in)
	below := subtree(v, n)
	all := in
	if below > 1 {
		all = s.bytes(below * piece)
		copy(all, in)
	}
	mask := 1
	for ; v&mask == 0 && mask < n; mask <<= 1 {
		child := v | mask
		if child >= n {
			continue
		}
		if err := c.Recv(ranked(child, root, n), all[mask*piece:(mask+subtree(child, n))*piece]); err != nil {
			return err
		}
	}
	return c.Send(ranked(v&^mask, root, n), all)
}

// subtree returns the number of ranks in the binomial tree below v > 0, including
// v: the value of its lowest set bit, limited by the number of ranks.
func subtree(v, n int) int { return min(v&-v, n-v) }

// gatherAtRoot receives the subtrees of the root's children. A subtree that wraps
// around from the last rank to rank 0 is not contiguous in out.
func gatherAtRoot(c Comm, out []byte, root int, s *Scratch) error {
	defer s.release(s.mark())
	n := c.Size()
	piece := len(out) / n
	for child := 1; child < n; child <<= 1 {
		first, ranks := ranked(child, root, n), subtree(child, n)
		if first+ranks <= n {
			if err := c.Recv(first, out[first*piece:(first+ranks)*piece]); err != nil {
				return err
			}
			continue
		}
		all := s.bytes(ranks * piece)
		if err := c.Recv(first, all); err != nil {
			return err
		}
		k := copy(out[first*piece:], all)
		copy(out, all[k:])
	}
	return nil
}

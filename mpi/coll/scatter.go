package coll

type scatterFunc = func(c Comm, in, out []byte, root int, s *Scratch) error

var scatters = table[scatterFunc]{
	{name: Linear, run: scatterLinear},
	{name: Binomial, run: scatterBinomial},
}

// Scatter sends every rank its piece of the root's in, in rank order (MPI-4.1,
// 6.6). Every out has the same length. in matters only at the root, where it has
// that length times the number of ranks. If out is nil at the root, the root's
// piece stays in in.
func Scatter(c Comm, in, out []byte, root int, s *Scratch, choose Choice) error {
	n, piece := c.Size(), len(out)
	if err := checkRoot(root, n); err != nil {
		return err
	}
	if c.Rank() == root {
		if err := checkWhole("the root's in", len(in), n); err != nil {
			return err
		}
		piece = len(in) / n
		if out != nil {
			if err := checkLen("out", len(out), piece); err != nil {
				return err
			}
			copy(out, in[root*piece:])
		}
	}
	run, err := scatters.pick(c, choose, chooseGather(piece), need{OpScatter, piece, true})
	if err != nil || n == 1 || piece == 0 {
		return err
	}
	return run(c, in, out, root, s)
}

// Scatterv is Scatter with pieces of any length: in[r] is for the out of rank r.
// Only the root knows the lengths, so there is one algorithm: the root sends to
// every rank.
func Scatterv(c Comm, in [][]byte, out []byte, root int, s *Scratch) error {
	n := c.Size()
	if err := checkRoot(root, n); err != nil {
		return err
	}
	if c.Rank() != root {
		return recvSome(c, root, out)
	}
	if err := checkPieces("the root's in", len(in), n); err != nil {
		return err
	}
	if out != nil {
		if err := checkLen("out", len(out), len(in[root])); err != nil {
			return err
		}
		copy(out, in[root])
	}
	f := s.flight()
	for r := range n {
		if r != root {
			f.send(c, r, in[r])
		}
	}
	return f.Land()
}

func scatterLinear(c Comm, in, out []byte, root int, s *Scratch) error {
	if c.Rank() != root {
		return c.Recv(root, out)
	}
	n := c.Size()
	piece := len(in) / n
	f := s.flight()
	for r := range n {
		if r != root {
			f.send(c, r, in[r*piece:(r+1)*piece])
		}
	}
	return f.Land()
}

// scatterBinomial is gatherBinomial backwards: v receives the pieces of its
// subtree in one message and sends its children theirs, the largest first.
func scatterBinomial(c Comm, in, out []byte, root int, s *Scratch) error {
	n := c.Size()
	v := fromRoot(c.Rank(), root, n)
	if v == 0 {
		return scatterAtRoot(c, in, root, s)
	}
	defer s.release(s.mark())
	piece := len(out)
	below := subtree(v, n)
	parent := ranked(v&(v-1), root, n)
	if below == 1 {
		return c.Recv(parent, out)
	}
	all := s.bytes(below * piece)
	if err := c.Recv(parent, all); err != nil {
		return err
	}
	copy(out, all)
	for mask := floorPowerOfTwo(below - 1); mask > 0; mask >>= 1 {
		child := v | mask
		if err := c.Send(ranked(child, root, n), all[mask*piece:(mask+subtree(child, n))*piece]); err != nil {
			return err
		}
	}
	return nil
}

// scatterAtRoot sends the root's children their subtrees, the largest first.
func scatterAtRoot(c Comm, in []byte, root int, s *Scratch) error {
	defer s.release(s.mark())
	n := c.Size()
	piece := len(in) / n
	for child := floorPowerOfTwo(n - 1); child > 0; child >>= 1 {
		first, ranks := ranked(child, root, n), subtree(child, n)
		all := in[first*piece : min(first+ranks, n)*piece]
		if first+ranks > n {
			whole := s.bytes(ranks * piece)
			k := copy(whole, all)
			copy(whole[k:], in)
			all = whole
		}
		if err := c.Send(first, all); err != nil {
			return err
		}
	}
	return nil
}

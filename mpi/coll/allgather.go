package coll

type allgatherFunc = func(c Comm, out []byte, s *Scratch) error

var allgathers = table[allgatherFunc]{
	{name: Linear, run: allgatherLinear},
	{name: Ring, run: allgatherRing},
	{name: Doubling, run: allgatherDoubling, powerOfTwo: true},
	{name: Bruck, run: allgatherBruck},
}

// Allgather collects every rank's in into the out of every rank, in rank order
// (MPI-4.1, 6.7). Every in has the same length, and out has that length times the
// number of ranks. If in is nil on all ranks, each piece is already in its place in
// out.
func Allgather(c Comm, in, out []byte, s *Scratch, choose Choice) error {
	n, rank := c.Size(), c.Rank()
	if err := checkWhole("out", len(out), n); err != nil {
		return err
	}
	piece := len(out) / n
	if in != nil {
		if err := checkLen("in", len(in), piece); err != nil {
			return err
		}
		copy(out[rank*piece:], in)
	}
	run, err := allgathers.pick(c, choose, chooseAllgather(n, len(out), c.Machine().far()), need{OpAllgather, piece, true})
	if err != nil || n == 1 || piece == 0 {
		return err
	}
	return run(c, out, s)
}

// allgatherLinear: every rank sends its piece to every other rank.
func allgatherLinear(c Comm, out []byte, s *Scratch) error {
	n, rank := c.Size(), c.Rank()
	piece := len(out) / n
	mine := out[rank*piece : (rank+1)*piece]
	f := s.flight()
	for k := 1; k < n; k++ {
		from := (rank - k + n) % n
		f.recv(c, from, out[from*piece:(from+1)*piece])
		f.send(c, (rank+k)%n, mine)
	}
	return f.Land()
}

func allgatherRing(c Comm, out []byte, _ *Scratch) error {
	n := c.Size()
	return ringBlocks(c, blocks{count: n, size: len(out) / n, n: n}, out, c.Rank())
}

// allgatherDoubling: after round k a rank has the pieces of the 2^(k+1) ranks
// that differ from it in the lowest k+1 bits.
func allgatherDoubling(c Comm, out []byte, _ *Scratch) error {
	n, rank := c.Size(), c.Rank()
	piece := len(out) / n
	for mask := 1; mask < n; mask <<= 1 {
		partner := rank ^ mask
		mine, theirs := rank&^(mask-1), partner&^(mask-1)
		err := c.Exchange(partner, out[mine*piece:(mine+mask)*piece],
			partner, out[theirs*piece:(theirs+mask)*piece])
		if err != nil {
			return err
		}
	}
	return nil
}

// allgatherBruck (Bruck et al.: "Efficient Algorithms for All-to-All Communications
// in Multiport Message-Passing Systems", 1997): a rank collects the pieces of the
// ranks after it, beginning with its own. When it has d of them, it gets up to d
// more from the rank d further. At the end the pieces are rotated into rank order.
func allgatherBruck(c Comm, out []byte, s *Scratch) error {
	defer s.release(s.mark())
	n, rank := c.Size(), c.Rank()
	piece := len(out) / n
	all := s.bytes(len(out))
	copy(all, out[rank*piece:(rank+1)*piece])
	for d := 1; d < n; d <<= 1 {
		more := min(d, n-d) * piece
		if err := c.Exchange((rank-d+n)%n, all[:more], (rank+d)%n, all[d*piece:d*piece+more]); err != nil {
			return err
		}
	}
	k := copy(out[rank*piece:], all)
	copy(out, all[k:])
	return nil
}

type allgathervFunc = func(c Comm, out [][]byte, s *Scratch) error

var allgathervs = table[allgathervFunc]{
	{name: Linear, run: allgathervLinear},
	{name: Ring, run: allgathervRing},
	{name: Bruck, run: allgathervBruck},
}

// Allgatherv is Allgather with pieces of any length: out[r] is for the in of rank
// r. All ranks know all lengths.
func Allgatherv(c Comm, in []byte, out [][]byte, s *Scratch, choose Choice) error {
	n, rank := c.Size(), c.Rank()
	if err := checkPieces("out", len(out), n); err != nil {
		return err
	}
	if in != nil {
		if err := checkLen("in", len(in), len(out[rank])); err != nil {
			return err
		}
		copy(out[rank], in)
	}
	bytes := total(out)
	run, err := allgathervs.pick(c, choose, chooseAllgatherv(n, bytes, c.Machine().far()), need{OpAllgatherv, bytes / n, true})
	if err != nil || n == 1 {
		return err
	}
	return run(c, out, s)
}

func allgathervLinear(c Comm, out [][]byte, s *Scratch) error {
	n, rank := c.Size(), c.Rank()
	f := s.flight()
	for k := 1; k < n; k++ {
		from := (rank - k + n) % n
		f.recv(c, from, out[from])
		f.send(c, (rank+k)%n, out[rank])
	}
	return f.Land()
}

func allgathervRing(c Comm, out [][]byte, _ *Scratch) error {
	n, rank := c.Size(), c.Rank()
	next, before := (rank+1)%n, (rank-1+n)%n
	for k := range n - 1 {
		if err := exchangeSome(c, next, out[(rank-k+n)%n], before, out[(rank-k-1+n)%n]); err != nil {
			return err
		}
	}
	return nil
}

// allgathervBruck is allgatherBruck with pieces that are packed one after another,
// beginning with the rank's own.
func allgathervBruck(c Comm, out [][]byte, s *Scratch) error {
	defer s.release(s.mark())
	n, rank := c.Size(), c.Rank()
	all := s.bytes(total(out))
	copy(all, out[rank])
	// length returns the length of k pieces from rank r on.
	length := func(r, k int) (bytes int) {
		for i := range k {
			bytes += len(out[(r+i)%n])
		}
		return bytes
	}
	for d := 1; d < n; d <<= 1 {
		more := min(d, n-d)
		have, get := length(rank, d), length((rank+d)%n, more)
		err := exchangeSome(c, (rank-d+n)%n, all[:length(rank, more)], (rank+d)%n, all[have:have+get])
		if err != nil {
			return err
		}
	}
	for i := range n {
		all = all[copy(out[(rank+i)%n], all):]
	}
	return nil
}

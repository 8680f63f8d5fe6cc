package coll

type alltoallFunc = func(c Comm, in, out []byte, s *Scratch) error

var alltoalls = table[alltoallFunc]{
	{name: Linear, run: alltoallLinear},
	{name: Pairwise, run: alltoallPairwise},
	{name: Batches, run: alltoallBatches},
	{name: Bruck, run: alltoallBruck},
}

// Alltoall sends piece r of in to rank r, and receives the piece of rank r into
// piece r of out (MPI-4.1, 6.8). in and out have the same length, a multiple of the
// number of ranks. If in is nil on all ranks, out is sent, then overwritten.
func Alltoall(c Comm, in, out []byte, s *Scratch, choose Choice) error {
	n, rank := c.Size(), c.Rank()
	if err := checkWhole("out", len(out), n); err != nil {
		return err
	}
	piece := len(out) / n
	if in != nil {
		if err := checkLen("in", len(in), len(out)); err != nil {
			return err
		}
		copy(out[rank*piece:(rank+1)*piece], in[rank*piece:])
	}
	run, err := alltoalls.pick(c, choose, chooseAlltoall(n, piece), need{OpAlltoall, piece, true})
	if err != nil || n == 1 || piece == 0 {
		return err
	}
	if in == nil {
		return alltoallInPlace(c, out, s)
	}
	return run(c, in, out, s)
}

// alltoallLinear begins everything at once.
func alltoallLinear(c Comm, in, out []byte, s *Scratch) error {
	return alltoallRounds(c, in, out, s, 1, c.Size())
}

// alltoallBatches: for many ranks everything at once would be too much for those that
// receive it.
func alltoallBatches(c Comm, in, out []byte, s *Scratch) error {
	n := c.Size()
	for k := 1; k < n; k += alltoallBatch {
		if err := alltoallRounds(c, in, out, s, k, min(k+alltoallBatch, n)); err != nil {
			return err
		}
	}
	return nil
}

// alltoallRounds does rounds first to end-1 at once. In round k every rank sends to the
// rank k further, so at any time the ranks send to different ranks.
func alltoallRounds(c Comm, in, out []byte, s *Scratch, first, end int) error {
	n, rank := c.Size(), c.Rank()
	piece := len(out) / n
	f := s.flight()
	for k := first; k < end; k++ {
		from := (rank - k + n) % n
		f.recv(c, from, out[from*piece:(from+1)*piece])
	}
	for k := first; k < end; k++ {
		to := (rank + k) % n
		f.send(c, to, in[to*piece:(to+1)*piece])
	}
	return f.Land()
}

// alltoallPairwise: in round k every rank sends to the rank k further.
func alltoallPairwise(c Comm, in, out []byte, _ *Scratch) error {
	n, rank := c.Size(), c.Rank()
	piece := len(out) / n
	for k := 1; k < n; k++ {
		to, from := (rank+k)%n, (rank-k+n)%n
		err := c.Exchange(to, in[to*piece:(to+1)*piece], from, out[from*piece:(from+1)*piece])
		if err != nil {
			return err
		}
	}
	return nil
}

// alltoallBruck sends a piece for the rank k further in as many hops as k has bits
// set. In round i all pieces whose k has bit i go 2^i ranks further, in one
// message. all[k] is the piece that has to go k ranks further from here. Once it
// has no hop left, it is the piece from the rank k before.
func alltoallBruck(c Comm, in, out []byte, s *Scratch) error {
	defer s.release(s.mark())
	n, rank := c.Size(), c.Rank()
	piece := len(out) / n
	all := s.bytes(len(out))
	k := copy(all, in[rank*piece:])
	copy(all[k:], in)
	half := (n + 1) / 2 * piece
	packed, arrived := s.bytes(half), s.bytes(half)
	for d := 1; d < n; d <<= 1 {
		length := 0
		for k := d; k < n; k++ {
			if k&d != 0 {
				length += copy(packed[length:], all[k*piece:(k+1)*piece])
			}
		}
		if err := c.Exchange((rank+d)%n, packed[:length], (rank-d+n)%n, arrived[:length]); err != nil {
			return err
		}
		rest := arrived[:length]
		for k := d; k < n; k++ {
			if k&d != 0 {
				rest = rest[copy(all[k*piece:(k+1)*piece], rest):]
			}
		}
	}
	for k := 1; k < n; k++ {
		from := (rank - k + n) % n
		copy(out[from*piece:(from+1)*piece], all[k*piece:(k+1)*piece])
	}
	return nil
}

// alltoallInPlace exchanges piece by piece with one partner after another: in round
// k the partners are the ranks whose sum is k modulo n.
func alltoallInPlace(c Comm, out []byte, s *Scratch) error {
	defer s.release(s.mark())
	n, rank := c.Size(), c.Rank()
	piece := len(out) / n
	arrived := s.bytes(piece)
	for k := range n {
		partner := (k - rank + n) % n
		if partner == rank {
			continue
		}
		ours := out[partner*piece : (partner+1)*piece]
		if err := c.Exchange(partner, ours, partner, arrived); err != nil {
			return err
		}
		copy(ours, arrived)
	}
	return nil
}

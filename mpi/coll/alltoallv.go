package coll

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

type alltoallvFunc = func(c Comm, in, out [][]byte, s *Scratch) error

var alltoallvs = table[alltoallvFunc]{
	{name: Linear, run: alltoallvLinear},
	{name: Pairwise, run: alltoallvPairwise},
	{name: Batches, run: alltoallvBatches},
}

// Alltoallv is Alltoall with pieces of any length: in[r] is sent to rank r, and
// out[r] receives the piece of rank r (MPI-4.1, 6.8). If in is nil on all ranks,
// out is sent, then overwritten. Alltoallw is the same, with each piece packed by
// its own type.
func Alltoallv(c Comm, in, out [][]byte, s *Scratch, choose Choice) error {
	n, rank := c.Size(), c.Rank()
	if err := checkPieces("out", len(out), n); err != nil {
		return err
	}
	if in != nil {
		if err := checkPieces("in", len(in), n); err != nil {
			return err
		}
		if len(in[rank]) != len(out[rank]) {
			return errclass.New(errclass.Truncate, "rank %d sends %d bytes to itself and receives %d",
				rank, len(in[rank]), len(out[rank]))
		}
		copy(out[rank], in[rank])
	}
	run, err := alltoallvs.pick(c, choose, chooseAlltoallv(n), need{op: OpAlltoallv, commutes: true})
	if err != nil || n == 1 {
		return err
	}
	if in == nil {
		return alltoallvInPlace(c, out, s)
	}
	return run(c, in, out, s)
}

func alltoallvLinear(c Comm, in, out [][]byte, s *Scratch) error {
	return alltoallvRounds(c, in, out, s, 1, c.Size())
}

func alltoallvBatches(c Comm, in, out [][]byte, s *Scratch) error {
	n := c.Size()
	for k := 1; k < n; k += alltoallBatch {
		if err := alltoallvRounds(c, in, out, s, k, min(k+alltoallBatch, n)); err != nil {
			return err
		}
	}
	return nil
}

// alltoallvRounds is alltoallRounds with pieces of any length.
func alltoallvRounds(c Comm, in, out [][]byte, s *Scratch, first, end int) error {
	n, rank := c.Size(), c.Rank()
	f := s.flight()
	for k := first; k < end; k++ {
		from := (rank - k + n) % n
		f.recv(c, from, out[from])
	}
	for k := first; k < end; k++ {
		to := (rank + k) % n
		f.send(c, to, in[to])
	}
	return f.Land()
}

func alltoallvPairwise(c Comm, in, out [][]byte, _ *Scratch) error {
	n, rank := c.Size(), c.Rank()
	for k := 1; k < n; k++ {
		to, from := (rank+k)%n, (rank-k+n)%n
		if err := exchangeSome(c, to, in[to], from, out[from]); err != nil {
			return err
		}
	}
	return nil
}

// alltoallvInPlace is alltoallInPlace with pieces of any length: a pair has the
// same length in both directions.
func alltoallvInPlace(c Comm, out [][]byte, s *Scratch) error {
	defer s.release(s.mark())
	n, rank := c.Size(), c.Rank()
	longest := 0
	for r, p := range out {
		if r != rank {
			longest = max(longest, len(p))
		}
	}
	all := s.bytes(longest)
	for k := range n {
		partner := (k - rank + n) % n
		if partner == rank || len(out[partner]) == 0 {
			continue
		}
		arrived := all[:len(out[partner])]
		if err := c.Exchange(partner, out[partner], partner, arrived); err != nil {
			return err
		}
		copy(out[partner], arrived)
	}
	return nil
}

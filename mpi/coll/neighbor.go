package coll

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

// Neighbors are the ranks that a rank receives from and sends to on a communicator
// with a topology, in the order of the standard (MPI-4.1, 8.6), which is the order
// of the pieces. A rank may be in a list more than once, may be the rank itself,
// and may be ProcNull, whose piece is neither sent nor changed.
type Neighbors struct {
	Sources, Destinations []int
	// Cartesian: both lists are those of a Cartesian topology, with the neighbours
	// in negative and in positive direction for every dimension. In a periodic
	// dimension of one or two ranks, both can be the same rank, or the caller
	// itself. Then data sent in one direction arrives as from the opposite one
	// (MPI-4.1, 8.6, Example 8.10). On a graph the k-th piece for a rank arrives as
	// the k-th piece from it.
	Cartesian bool
}

func (nb *Neighbors) check(n int) error {
	if nb.Cartesian && (len(nb.Sources) != len(nb.Destinations) || len(nb.Sources)%2 != 0) {
		return errclass.New(errclass.Topology, "a Cartesian topology has two neighbours per dimension, not %d and %d in all",
			len(nb.Sources), len(nb.Destinations))
	}
	for _, list := range [...][]int{nb.Sources, nb.Destinations} {
		for _, r := range list {
			if r == ProcNull {
				continue
			}
			if err := checkRank(errclass.Topology, "the neighbour", r, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// received returns the index of the piece that is received as the i-th. Pieces
// between a pair of ranks arrive in the order in which they are sent, the order of
// the destinations.
func (nb *Neighbors) received(i int) int {
	if nb.Cartesian {
		return i ^ 1
	}
	return i
}

// The operations on neighbours post all their messages and return them as a Flight. Its Land waits
// for them, and reports all errors.

// NeighborAllgather sends in to every destination and receives the in of source i
// into piece i of out (MPI-4.1, 8.6.1). All pieces have the length of in.
func NeighborAllgather(c Comm, in, out []byte, nb Neighbors, s *Scratch) Flight {
	piece, err := neighborPiece("out", len(out), len(nb.Sources))
	if err != nil {
		return Flight{err: err}
	}
	return neighborExchange(c, &nb, s,
		func(int) []byte { return in },
		func(i int) []byte { return out[i*piece : (i+1)*piece] })
}

// NeighborAllgatherv is NeighborAllgather with pieces of any length: out[i] is
// for the in of source i.
func NeighborAllgatherv(c Comm, in []byte, out [][]byte, nb Neighbors, s *Scratch) Flight {
	if err := checkNeighborPieces("out", len(out), len(nb.Sources)); err != nil {
		return Flight{err: err}
	}
	return neighborExchange(c, &nb, s,
		func(int) []byte { return in },
		func(i int) []byte { return out[i] })
}

// NeighborAlltoall sends piece i of in to destination i and receives the piece of
// source i into piece i of out (MPI-4.1, 8.6.2). All pieces have the same length.
func NeighborAlltoall(c Comm, in, out []byte, nb Neighbors, s *Scratch) Flight {
	sent, err := neighborPiece("in", len(in), len(nb.Destinations))
	if err != nil {
		return Flight{err: err}
	}
	got, err := neighborPiece("out", len(out), len(nb.Sources))
	if err != nil {
		return Flight{err: err}
	}
	return neighborExchange(c, &nb, s,
		func(i int) []byte { return in[i*sent : (i+1)*sent] },
		func(i int) []byte { return out[i*got : (i+1)*got] })
}

// NeighborAlltoallv is NeighborAlltoall with pieces of any length: in[i] goes to
// destination i, out[i] comes from source i. Neighbor_alltoallw is the same, with
// each piece packed by its own type.
func NeighborAlltoallv(c Comm, in, out [][]byte, nb Neighbors, s *Scratch) Flight {
	if err := checkNeighborPieces("in", len(in), len(nb.Destinations)); err != nil {
		return Flight{err: err}
	}
	if err := checkNeighborPieces("out", len(out), len(nb.Sources)); err != nil {
		return Flight{err: err}
	}
	return neighborExchange(c, &nb, s,
		func(i int) []byte { return in[i] },
		func(i int) []byte { return out[i] })
}

// neighborExchange sends in(i) to destination i and receives out(i) from source i.
// It begins everything at once, because neighbourhoods are small and sparse. Pieces
// between a pair stay in order.
func neighborExchange(c Comm, nb *Neighbors, s *Scratch, in, out func(i int) []byte) Flight {
	if err := nb.check(c.Size()); err != nil {
		return Flight{err: err}
	}
	rank := c.Rank()
	if err := neighborSelf(rank, nb, in, out); err != nil {
		return Flight{err: err}
	}
	f := s.flight()
	for i := range nb.Sources {
		i := nb.received(i)
		if from := nb.Sources[i]; from != ProcNull && from != rank {
			f.recv(c, from, out(i))
		}
	}
	for i, to := range nb.Destinations {
		if to != ProcNull && to != rank {
			f.send(c, to, in(i))
		}
	}
	return f
}

// neighborSelf copies the pieces that the rank sends to itself, in the order of messages.
func neighborSelf(rank int, nb *Neighbors, in, out func(i int) []byte) error {
	next := nextSelf(rank, nb, 0)
	for i, to := range nb.Destinations {
		if to != rank {
			continue
		}
		if next == len(nb.Sources) {
			return errclass.New(errclass.Topology, "rank %d is its own destination more often than its own source", rank)
		}
		from, to := in(i), out(nb.received(next))
		if len(from) != len(to) {
			return errclass.New(errclass.Truncate, "rank %d sends %d bytes to itself and receives %d", rank, len(from), len(to))
		}
		copy(to, from)
		next = nextSelf(rank, nb, next+1)
	}
	if next < len(nb.Sources) {
		return errclass.New(errclass.Topology, "rank %d is its own source more often than its own destination", rank)
	}
	return nil
}

// nextSelf returns the first source from the i-th one on, in the order of
// receiving, that is the rank itself.
func nextSelf(rank int, nb *Neighbors, i int) int {
	for i < len(nb.Sources) && nb.Sources[nb.received(i)] != rank {
		i++
	}
	return i
}

// neighborPiece returns the length of each of n pieces of a buffer.
func neighborPiece(what string, bytes, n int) (int, error) {
	if n == 0 {
		return 0, nil
	}
	if bytes%n != 0 {
		return 0, errclass.New(errclass.Count, "%s has %d bytes, which is no multiple of %d neighbours", what, bytes, n)
	}
	return bytes / n, nil
}

func checkNeighborPieces(what string, have, want int) error {
	if have != want {
		return errclass.New(errclass.Count, "%s has %d pieces for %d neighbours", what, have, want)
	}
	return nil
}

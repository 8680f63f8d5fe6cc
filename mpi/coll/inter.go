package coll

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

// On an inter-communicator data go from one group to the other (MPI-4.1, 6.2.2 and
// 6.2.3). If one rank can act for its whole group, it is the leader. A Choice
// applies to the steps within the groups that have an algorithm of that name.
const leader = 0

// checkInterRoot returns an error unless root is Root, ProcNull, or a rank of the
// other group.
func checkInterRoot(c Remote, root int) error {
	if root == Root || root == ProcNull {
		return nil
	}
	return checkRank(errclass.Root, "root (a rank of the other group, Root or ProcNull)", root, c.RemoteSize())
}

// InterBarrier returns when every rank of both groups has called it (MPI-4.1,
// 6.3, asks only for the other group).
func InterBarrier(c Remote, choose Choice) error {
	local := c.Local()
	choose = barriers.or(choose)
	if err := Barrier(local, choose); err != nil {
		return err
	}
	// The local group has arrived. The leaders inform each other.
	if c.Rank() == leader {
		if err := c.Exchange(leader, nil, leader, nil); err != nil {
			return err
		}
	}
	return Barrier(local, choose)
}

// InterBcast copies the root's buf to the other group (MPI-4.1, 6.4). In the root's
// own group, buf matters only at the root.
func InterBcast(c Remote, buf []byte, root int, s *Scratch, choose Choice) error {
	if err := checkInterRoot(c, root); err != nil {
		return err
	}
	switch root {
	case ProcNull:
		return nil
	case Root:
		return sendSome(c, leader, buf)
	}
	if c.Rank() == leader {
		if err := recvSome(c, root, buf); err != nil {
			return err
		}
	}
	return Bcast(c.Local(), buf, leader, s, bcasts.or(choose))
}

// InterGather collects every in of the other group, in rank order, into out at the
// root (MPI-4.1, 6.5). Every in has the same length, and out has that length times
// the number of ranks of the other group. in matters in the group that sends, out
// at the root.
func InterGather(c Remote, in, out []byte, root int, s *Scratch, choose Choice) error {
	if err := checkInterRoot(c, root); err != nil {
		return err
	}
	switch root {
	case ProcNull:
		return nil
	case Root:
		n := c.RemoteSize()
		if err := checkWhole("the root's out", len(out), n); err != nil {
			return err
		}
		if piece := len(out) / n; piece > interGatherBytesMax {
			f := s.flight()
			for r := range n {
				f.recv(c, r, out[r*piece:(r+1)*piece])
			}
			return f.Land()
		}
		return recvSome(c, leader, out)
	}
	if len(in) > interGatherBytesMax {
		return c.Send(root, in)
	}
	return interGatherShort(c, in, root, s, choose)
}

// interGatherShort: the leader collects the pieces and sends them as one message.
func interGatherShort(c Remote, in []byte, root int, s *Scratch, choose Choice) error {
	defer s.release(s.mark())
	if c.Rank() != leader {
		return Gather(c.Local(), in, nil, leader, s, gathers.or(choose))
	}
	all := s.bytes(c.Size() * len(in))
	copy(all, in)
	if err := Gather(c.Local(), nil, all, leader, s, gathers.or(choose)); err != nil {
		return err
	}
	return sendSome(c, root, all)
}

// InterGatherv is InterGather with pieces of any length: out[r] is for the in
// of rank r of the other group.
func InterGatherv(c Remote, in []byte, out [][]byte, root int, s *Scratch) error {
	if err := checkInterRoot(c, root); err != nil {
		return err
	}
	switch root {
	case ProcNull:
		return nil
	case Root:
		if err := checkPieces("the root's out", len(out), c.RemoteSize()); err != nil {
			return err
		}
		f := s.flight()
		for r, piece := range out {
			f.recv(c, r, piece)
		}
		return f.Land()
	}
	return sendSome(c, root, in)
}

// InterScatter sends every rank of the other group its piece of the root's in, in
// rank order (MPI-4.1, 6.6). Every out has the same length, and in has that length
// times the number of ranks of the other group. in matters at the root, out in the
// group that receives.
func InterScatter(c Remote, in, out []byte, root int, s *Scratch, choose Choice) error {
	if err := checkInterRoot(c, root); err != nil {
		return err
	}
	switch root {
	case ProcNull:
		return nil
	case Root:
		n := c.RemoteSize()
		if err := checkWhole("the root's in", len(in), n); err != nil {
			return err
		}
		if piece := len(in) / n; piece > interGatherBytesMax {
			f := s.flight()
			for r := range n {
				f.send(c, r, in[r*piece:(r+1)*piece])
			}
			return f.Land()
		}
		return sendSome(c, leader, in)
	}
	if len(out) > interGatherBytesMax {
		return c.Recv(root, out)
	}
	return interScatterShort(c, out, root, s, choose)
}

// interScatterShort: the leader receives the pieces as one message and scatters
// them.
func interScatterShort(c Remote, out []byte, root int, s *Scratch, choose Choice) error {
	defer s.release(s.mark())
	if c.Rank() != leader {
		return Scatter(c.Local(), nil, out, leader, s, scatters.or(choose))
	}
	all := s.bytes(c.Size() * len(out))
	if err := recvSome(c, root, all); err != nil {
		return err
	}
	return Scatter(c.Local(), all, out, leader, s, scatters.or(choose))
}

// InterScatterv is InterScatter with pieces of any length: in[r] is for the
// out of rank r of the other group.
func InterScatterv(c Remote, in [][]byte, out []byte, root int, s *Scratch) error {
	if err := checkInterRoot(c, root); err != nil {
		return err
	}
	switch root {
	case ProcNull:
		return nil
	case Root:
		if err := checkPieces("the root's in", len(in), c.RemoteSize()); err != nil {
			return err
		}
		f := s.flight()
		for r, piece := range in {
			f.send(c, r, piece)
		}
		return f.Land()
	}
	return recvSome(c, root, out)
}

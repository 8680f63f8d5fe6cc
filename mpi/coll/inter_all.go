package coll

// InterAllgather collects every in of the other group, in the order of its ranks,
// into out (MPI-4.1, 6.7). Every in of a group has the same length, which may be 0.
// out has the length of the other group's in times its number of ranks.
func InterAllgather(c Remote, in, out []byte, s *Scratch, choose Choice) error {
	n := c.RemoteSize()
	if err := checkWhole("out", len(out), n); err != nil {
		return err
	}
	b := blocks{count: n, size: len(out) / n, n: n}
	return interAllgather(c, in, out, func(i, j int) []byte { return b.of(out, i, j) }, s, choose)
}

// InterAllgatherv is InterAllgather with pieces of any length: out[r] is for the in
// of rank r of the other group. The ranks of each group know the lengths of the
// other group.
func InterAllgatherv(c Remote, in []byte, out [][]byte, s *Scratch, choose Choice) error {
	if err := checkPieces("out", len(out), c.RemoteSize()); err != nil {
		return err
	}
	defer s.release(s.mark())
	all := s.bytes(total(out))
	at := func(i int) int { return total(out[:i]) }
	err := interAllgather(c, in, all, func(i, j int) []byte { return all[at(i):at(j)] }, s, choose)
	if err != nil {
		return err
	}
	for _, piece := range out {
		all = all[copy(piece, all):]
	}
	return nil
}

// interAllgather divides the ranks of either group, the senders, among the ranks of
// the other, as evenly as possible and in order. Every rank receives the pieces of
// its senders, then each group gathers the pieces of its ranks. of returns the
// pieces of senders i to j-1 in all.
func interAllgather(c Remote, in, all []byte, of func(i, j int) []byte, s *Scratch, choose Choice) error {
	n, far, rank := c.Size(), c.RemoteSize(), c.Rank()
	// first returns the first sender for rank i, when from senders are divided
	// among to ranks. It is also defined for i = to.
	first := func(i, to, from int) int { return (i*from + to - 1) / to }
	f := s.flight()
	for i := first(rank, n, far); i < first(rank+1, n, far); i++ {
		f.recv(c, i, of(i, i+1))
	}
	f.send(c, rank*far/n, in)
	if err := f.Land(); err != nil {
		return err
	}
	pieces := make([][]byte, n)
	for i := range pieces {
		pieces[i] = of(first(i, n, far), first(i+1, n, far))
	}
	return Allgatherv(c.Local(), nil, pieces, s, allgathervs.or(choose))
}

// InterAlltoall sends piece r of in to rank r of the other group, and receives the
// piece from that rank into piece r of out (MPI-4.1, 6.8). All pieces in one
// direction have the same length.
func InterAlltoall(c Remote, in, out []byte, s *Scratch, choose Choice) error {
	n := c.RemoteSize()
	if err := checkWhole("in", len(in), n); err != nil {
		return err
	}
	if err := checkWhole("out", len(out), n); err != nil {
		return err
	}
	send := blocks{count: n, size: len(in) / n, n: n}
	recv := blocks{count: n, size: len(out) / n, n: n}
	return interAlltoall(c, s, choose,
		func(r int) []byte { return send.of(in, r, r+1) },
		func(r int) []byte { return recv.of(out, r, r+1) })
}

// InterAlltoallv is InterAlltoall with pieces of any length.
func InterAlltoallv(c Remote, in, out [][]byte, s *Scratch, choose Choice) error {
	n := c.RemoteSize()
	if err := checkPieces("in", len(in), n); err != nil {
		return err
	}
	if err := checkPieces("out", len(out), n); err != nil {
		return err
	}
	return interAlltoall(c, s, choose,
		func(r int) []byte { return in[r] },
		func(r int) []byte { return out[r] })
}

// interAlltoall makes as many rounds as the larger group has ranks. In round k
// every rank sends to the rank k further in the other group and receives from the
// rank k before, if there are such ranks. Linear, or Auto in small groups, begins
// all rounds at once.
func interAlltoall(c Remote, s *Scratch, choose Choice, in, out func(r int) []byte) error {
	far := c.RemoteSize()
	rounds := max(c.Size(), far)
	atOnce := choose == Linear || choose == Auto && chooseAlltoallv(rounds) == Linear
	f := s.flight()
	for k := range rounds {
		to, from := (c.Rank()+k)%rounds, (c.Rank()-k+rounds)%rounds
		var send, recv []byte
		if to < far {
			send = in(to)
		}
		if from < far {
			recv = out(from)
		}
		if atOnce {
			f.recv(c, from, recv)
			f.send(c, to, send)
		} else if err := exchangeSome(c, to, send, from, recv); err != nil {
			return err
		}
	}
	return f.Land()
}

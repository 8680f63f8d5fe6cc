package coll

// Van de Geijn's broadcast: the root scatters buf in one block for each rank, and
// all ranks gather the blocks. Every rank receives almost the length of buf once,
// and no rank sends much more than twice that. In a tree the root sends a logarithm
// of times the length.
//
// Blocks are numbered from the root, like the ranks.

func bcastScatterDoubling(c Comm, buf []byte, root int, _ *Scratch) error {
	b := blocks{count: len(buf), size: 1, n: c.Size()}
	if err := scatterBlocks(c, b, buf, root); err != nil {
		return err
	}
	v := fromRoot(c.Rank(), root, b.n)
	for mask := 1; mask < b.n; mask <<= 1 {
		partner := v ^ mask
		mine, theirs := v&^(mask-1), partner&^(mask-1)
		p := ranked(partner, root, b.n)
		if err := exchangeSome(c, p, b.of(buf, mine, mine+mask), p, b.of(buf, theirs, theirs+mask)); err != nil {
			return err
		}
	}
	return nil
}

func bcastScatterRing(c Comm, buf []byte, root int, _ *Scratch) error {
	b := blocks{count: len(buf), size: 1, n: c.Size()}
	if err := scatterBlocks(c, b, buf, root); err != nil {
		return err
	}
	return ringBlocks(c, b, buf, fromRoot(c.Rank(), root, b.n))
}

// bcastScatterBruck gathers as allgatherBruck does, but into place: blocks that go on
// at the beginning of buf are two messages.
func bcastScatterBruck(c Comm, buf []byte, root int, s *Scratch) error {
	b := blocks{count: len(buf), size: 1, n: c.Size()}
	if err := scatterBlocks(c, b, buf, root); err != nil {
		return err
	}
	v := fromRoot(c.Rank(), root, b.n)
	for d := 1; d < b.n; d <<= 1 {
		more := min(d, b.n-d)
		before, next := (v-d+b.n)%b.n, (v+d)%b.n
		f := s.flight()
		for _, in := range b.around(buf, next, more) {
			f.recv(c, ranked(next, root, b.n), in)
		}
		for _, out := range b.around(buf, v, more) {
			f.send(c, ranked(before, root, b.n), out)
		}
		if err := f.Land(); err != nil {
			return err
		}
	}
	return nil
}

// scatterBlocks brings block v of the root's buf to v, along a binomial tree. A
// rank receives the blocks of its whole subtree in one message.
func scatterBlocks(c Comm, b blocks, buf []byte, root int) error {
	v := fromRoot(c.Rank(), root, b.n)
	mask := 1
	for ; mask < b.n && v&mask == 0; mask <<= 1 {
	}
	if v != 0 {
		if err := recvSome(c, ranked(v&^mask, root, b.n), b.of(buf, v, min(v+mask, b.n))); err != nil {
			return err
		}
	}
	for mask >>= 1; mask > 0; mask >>= 1 {
		child := v | mask
		if child >= b.n {
			continue
		}
		if err := sendSome(c, ranked(child, root, b.n), b.of(buf, child, min(child+mask, b.n))); err != nil {
			return err
		}
	}
	return nil
}

// ringBlocks gives every rank all blocks. This rank begins with block v and the
// next rank with block v+1.
func ringBlocks(c Comm, b blocks, buf []byte, v int) error {
	rank := c.Rank()
	next, before := (rank+1)%b.n, (rank-1+b.n)%b.n
	for k := range b.n - 1 {
		out, in := (v-k+b.n)%b.n, (v-k-1+b.n)%b.n
		if err := exchangeSome(c, next, b.of(buf, out, out+1), before, b.of(buf, in, in+1)); err != nil {
			return err
		}
	}
	return nil
}

package coll

type barrierFunc = func(c Comm) error

var barriers = table[barrierFunc]{
	{name: Linear, run: barrierLinear},
	{name: Binomial, run: barrierBinomial},
	{name: Dissemination, run: barrierDissemination},
}

// Barrier returns when every rank has called it (MPI-4.1, 6.3).
func Barrier(c Comm, choose Choice) error {
	if choose == Auto && c.Machine() == nil {
		return barrierDissemination(c)
	}
	run, err := barriers.pick(c, choose, Dissemination, need{op: OpBarrier, commutes: true})
	if err != nil {
		return err
	}
	return run(c)
}

// barrierLinear: every rank reports to rank 0, which then releases every rank.
func barrierLinear(c Comm) error {
	if c.Rank() != 0 {
		if err := c.Send(0, nil); err != nil {
			return err
		}
		return c.Recv(0, nil)
	}
	for r := 1; r < c.Size(); r++ {
		if err := c.Recv(r, nil); err != nil {
			return err
		}
	}
	for r := 1; r < c.Size(); r++ {
		if err := c.Send(r, nil); err != nil {
			return err
		}
	}
	return nil
}

// barrierBinomial reports up a tree, and the root releases the ranks down the same
// tree: the fewest messages, 2(n-1), in twice a logarithm of rounds.
func barrierBinomial(c Comm) error {
	if err := report(c); err != nil {
		return err
	}
	return release(c)
}

// report tells rank 0, up a tree, that all ranks are here.
func report(c Comm) error {
	n, rank := c.Size(), c.Rank()
	mask := 1
	for ; mask < n && rank&mask == 0; mask <<= 1 {
		if child := rank | mask; child < n {
			if err := c.Recv(child, nil); err != nil {
				return err
			}
		}
	}
	if rank != 0 {
		return c.Send(rank&^mask, nil)
	}
	return nil
}

// release tells all ranks, down the same tree, that rank 0 goes on.
func release(c Comm) error {
	n, rank := c.Size(), c.Rank()
	mask := 1
	for ; mask < n && rank&mask == 0; mask <<= 1 {
	}
	if rank != 0 {
		if err := c.Recv(rank&^mask, nil); err != nil {
			return err
		}
	}
	for mask >>= 1; mask > 0; mask >>= 1 {
		if child := rank | mask; child < n {
			if err := c.Send(child, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// barrierDissemination: after round k a rank knows, directly or indirectly, of the
// 2^(k+1)-1 ranks before it.
func barrierDissemination(c Comm) error {
	n, rank := c.Size(), c.Rank()
	for d := 1; d < n; d <<= 1 {
		if err := c.Exchange((rank+d)%n, nil, (rank-d+n)%n, nil); err != nil {
			return err
		}
	}
	return nil
}

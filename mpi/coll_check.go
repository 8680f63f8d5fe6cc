package mpi

// collective is Comm.call for a collective operation on an operand, or at a root.
func (c *Comm) collective(name string, root int, x *operand, err *error) (leave func()) {
	return c.callWith(Call{Name: name, Comm: c, Peer: root, Tag: Undefined, Bytes: len(x.Mem)}, err)
}

// checkAll is what can be wrong with a collective operation without a root.
func (c *Comm) checkAll(xs ...operand) error {
	if err := c.checkLive(); err != nil {
		return err
	}
	return wrong(xs...)
}

// checkRooted is what can be wrong with one that has a root, but for the operands, of which
// only some matter where the process is not the root.
func (c *Comm) checkRooted(root int) error {
	if err := c.checkLive(); err != nil {
		return err
	}
	return c.checkRoot(root)
}

// wrongAtRoot is the first thing that is wrong with the operands of a root: that of all
// processes, and its own, which an inter-communicator's root does not have.
func (c *Comm) wrongAtRoot(own, all operand) error {
	if c.IsInter() {
		return all.err
	}
	return wrong(all, own)
}

// nothing is what the processes do that are in the group of the root of an inter-communicator,
// and not the root.
func nothing(*view) error { return nil }

// isRoot tells whether this process is the root.
func (c *Comm) isRoot(root int) bool {
	if c.IsInter() {
		return root == Root
	}
	return root == c.rank
}

package mpi

// collective is Comm.call for a collective operation with an operand or a root.
func (c *Comm) collective(name string, root int, x *operand, err *error) (leave func()) {
	return c.callWith(Call{Name: name, Comm: c, Peer: root, Tag: Undefined, Bytes: len(x.Mem)}, err)
}

// checkAll checks the communicator and operands of a collective operation without a root.
func (c *Comm) checkAll(xs ...operand) error {
	if err := c.checkLive(); err != nil {
		return err
	}
	return wrong(xs...)
}

// checkRooted checks the communicator and root of a collective operation. It does not check the
// operands, because only some of them matter in a process that is not the root.
func (c *Comm) checkRooted(root int) error {
	if err := c.checkLive(); err != nil {
		return err
	}
	return c.checkRoot(root)
}

// wrongAtRoot returns the first error in the root's operands: all holds the data of all processes,
// own the root's own part. The root of an inter-communicator has no own part.
func (c *Comm) wrongAtRoot(own, all operand) error {
	if c.IsInter() {
		return all.err
	}
	return wrong(all, own)
}

// nothing is the program of the processes in the root's group of an inter-communicator that are not
// the root.
func nothing(*view) error { return nil }

// isRoot tells whether this process is the root.
func (c *Comm) isRoot(root int) bool {
	if c.IsInter() {
		return root == Root
	}
	return root == c.rank
}

package mpi

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

// failed returns a program that only reports that the arguments are wrong.
func failed(err error) program { return program{err: err} }

// nothing is the program of the processes in the root's group of an inter-communicator that are not
// the root.
var nothing = program{do: func(*view) error { return nil }}

// memory returns an error unless a buffer is memory in one piece.
func memory(b *Buffer) error {
	if b.isInPlace() {
		return errInPlace
	}
	return b.whole()
}

var errInPlace = errclass.New(errclass.Buffer, "InPlace stands for memory that is passed elsewhere in the call, and this call has none: give memory")

// checkPair checks the communicator and the buffers of a collective operation without a root. in may
// be InPlace on an intra-communicator.
func (c *Comm) checkPair(in, out *Buffer) error {
	if err := c.checkLive(); err != nil {
		return err
	}
	if err := memory(out); err != nil {
		return err
	}
	return c.checkGiven(in)
}

// checkRooted checks the communicator and root of a collective operation. It does not check the
// buffers, because only some of them matter in a process that is not the root.
func (c *Comm) checkRooted(root int) error {
	if err := c.checkLive(); err != nil {
		return err
	}
	return c.checkRoot(root)
}

// checkAtRoot checks the root's buffers: all holds the data of all processes, own the root's own
// part, which may be InPlace. The root of an inter-communicator has no own part.
func (c *Comm) checkAtRoot(own, all *Buffer) error {
	if all.isInPlace() {
		return errInPlace
	}
	if c.IsInter() {
		return nil
	}
	return own.whole()
}

// isRoot tells whether this process is the root.
func (c *Comm) isRoot(root int) bool {
	if c.IsInter() {
		return root == Root
	}
	return root == c.rank
}

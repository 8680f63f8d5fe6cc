package mpi

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Errors of frequent mistakes are allocated only once.
var (
	errNullComm  = errclass.New(errclass.Comm, "the communicator is nil: take Process.World or one that was made from it")
	errFreed     = errclass.New(errclass.Comm, "the communicator has been freed: use it before Free, or duplicate it")
	errNotMade   = errclass.New(errclass.Comm, "the communicator is not made yet: wait for the request of Idup first")
	errFinalized = errclass.New(errclass.Other, "the process has been finalized: communicate before Finalize")
)

// checkLive returns an error if the communicator is nil, freed or otherwise unusable.
func (c *Comm) checkLive() error {
	switch {
	case c == nil:
		return errNullComm
	case c.state.Load() != commLive:
		return c.notLive()
	case c.p.finalized.Load():
		return errFinalized
	}
	return nil
}

// notLive returns why a communicator is not live.
func (c *Comm) notLive() error {
	if c.state.Load() == commFreed {
		return errFreed
	}
	return errNotMade
}

// checkRank returns an error unless messages can be sent to rank. The communicator must be live.
func (c *Comm) checkRank(rank int) error {
	if uint(rank) < uint(c.peers) || rank == ProcNull {
		return nil
	}
	return c.badRank(rank)
}

// badRank returns the error for an invalid rank.
func (c *Comm) badRank(rank int) error {
	if rank == AnySource {
		return errclass.New(errclass.Rank, "the rank is AnySource, which only receives and probes take: name one of 0 to %d, or ProcNull", c.peers-1)
	}
	of := "the communicator"
	if c.IsInter() {
		of = "the remote group of the inter-communicator"
	}
	return errclass.New(errclass.Rank, "rank %d is not in %s, which has 0 to %d: name one of these, or ProcNull", rank, of, c.peers-1)
}

// checkSource returns an error unless messages can be received from rank.
func (c *Comm) checkSource(rank int) error {
	if rank == AnySource {
		return nil
	}
	return c.checkRank(rank)
}

// checkRoot returns an error unless root is a valid root of a collective operation on c (MPI-4.1,
// 6.2.2).
func (c *Comm) checkRoot(root int) error {
	if c.IsInter() {
		if root == Root || root == ProcNull || uint(root) < uint(c.peers) {
			return nil
		}
		return errclass.New(errclass.Root, "root %d is neither Root, ProcNull nor one of 0 to %d, the ranks of the remote group", root, c.peers-1)
	}
	if uint(root) < uint(c.peers) {
		return nil
	}
	return errclass.New(errclass.Root, "root %d is not in the communicator, which has 0 to %d", root, c.peers-1)
}

// checkTag returns an error unless tag is a valid message tag.
func checkTag(tag int) error {
	if uint(tag) <= core.TagMax {
		return nil
	}
	if tag == AnyTag {
		return errclass.New(errclass.Tag, "the tag is AnyTag, which only receives and probes take: choose one of 0 to %d", TagUB)
	}
	return errclass.New(errclass.Tag, "tag %d is not in 0 to %d", tag, TagUB)
}

// checkTagOrAny returns an error unless a receive can ask for tag.
func checkTagOrAny(tag int) error {
	if tag == AnyTag {
		return nil
	}
	return checkTag(tag)
}

// checkCount returns an error if count is negative.
func checkCount(count int) error {
	if count < 0 {
		return errclass.New(errclass.Count, "the count is %d, give 0 or more", count)
	}
	return nil
}

// checkTo checks the communicator, destination and tag of a send.
func (c *Comm) checkTo(dst, tag int) error {
	if err := c.checkLive(); err != nil {
		return err
	}
	if err := c.checkRank(dst); err != nil {
		return err
	}
	return checkTag(tag)
}

// checkSend checks the arguments of a send.
func (c *Comm) checkSend(b *Buffer, dst, tag int) error {
	if err := c.checkTo(dst, tag); err != nil {
		return err
	}
	return memory(b)
}

// checkFrom checks the communicator, source and tag of a receive.
func (c *Comm) checkFrom(src, tag int) error {
	if err := c.checkLive(); err != nil {
		return err
	}
	if err := c.checkSource(src); err != nil {
		return err
	}
	return checkTagOrAny(tag)
}

// checkRecv checks the arguments of a receive.
func (c *Comm) checkRecv(b *Buffer, src, tag int) error {
	if err := c.checkFrom(src, tag); err != nil {
		return err
	}
	return memory(b)
}

package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// What has been wrong so often that its error is made once.
var (
	errNullComm  = errclass.New(errclass.Comm, "the communicator is nil: take Process.World or one that was made from it")
	errFreed     = errclass.New(errclass.Comm, "the communicator has been freed: use it before Free, or duplicate it")
	errFinalized = errclass.New(errclass.Other, "the process has been finalized: communicate before Finalize")
)

// checkLive refuses communicators that nobody may use (any more).
func (c *Comm) checkLive() error {
	switch {
	case c == nil:
		return errNullComm
	case c.freed.Load():
		return errFreed
	case c.p.finalized.Load():
		return errFinalized
	}
	return nil
}

// checkRank refuses what is no rank that messages can go to, in a communicator that is live.
func (c *Comm) checkRank(rank int) error {
	if uint(rank) < uint(c.peers) || rank == ProcNull {
		return nil
	}
	return c.badRank(rank)
}

// badRank says what is wrong with a rank.
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

// checkSource refuses what is no rank that messages can come from.
func (c *Comm) checkSource(rank int) error {
	if rank == AnySource {
		return nil
	}
	return c.checkRank(rank)
}

// checkRoot refuses what is no root of a collective operation in this communicator
// (MPI-4.1, 6.2.2).
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

// checkTag refuses what is no tag of a message.
func checkTag(tag int) error {
	if uint(tag) <= core.TagMax {
		return nil
	}
	if tag == AnyTag {
		return errclass.New(errclass.Tag, "the tag is AnyTag, which only receives and probes take: choose one of 0 to %d", TagUB)
	}
	return errclass.New(errclass.Tag, "tag %d is not in 0 to %d", tag, TagUB)
}

// checkTagOrAny refuses what no receive can ask for.
func checkTagOrAny(tag int) error {
	if tag == AnyTag {
		return nil
	}
	return checkTag(tag)
}

// checkCount refuses negative counts.
func checkCount(count int) error {
	if count < 0 {
		return errclass.New(errclass.Count, "the count is %d, give 0 or more", count)
	}
	return nil
}

// checkSend is all that can be wrong with whom a message goes to.
func (c *Comm) checkSend(dst, tag int) error {
	if err := c.checkLive(); err != nil {
		return err
	}
	if err := c.checkRank(dst); err != nil {
		return err
	}
	return checkTag(tag)
}

// checkRecv is all that can be wrong with whom a message is to come from.
func (c *Comm) checkRecv(src, tag int) error {
	if err := c.checkLive(); err != nil {
		return err
	}
	if err := c.checkSource(src); err != nil {
		return err
	}
	return checkTagOrAny(tag)
}

package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// isDivided tells whether the program divided a buffer among ranks itself, by Parts or Each.
func (b *Buffer) isDivided() bool {
	return b.more != nil && b.more.err == nil && (b.more.split || b.more.parts != nil)
}

// divided returns the buffers of n ranks in a buffer: those of Parts or Each, or equal parts.
func (b *Buffer) divided(n int) ([]Buffer, error) {
	m := b.detail()
	switch {
	case m.err != nil:
		return nil, m.err
	case m.parts == nil:
		return b.divide(n, m.counts, m.displs)
	case len(m.parts) != n:
		return nil, errclass.New(errclass.Count, "%d buffers for %d ranks: give one for each", len(m.parts), n)
	}
	for i := range m.parts {
		if err := m.parts[i].whole(); err != nil {
			return nil, err
		}
	}
	return m.parts, nil
}

// divide returns n parts of a buffer: counts[i] elements, from element displs[i] on. nil counts make
// equal parts.
func (b *Buffer) divide(n int, counts, displs []int) ([]Buffer, error) {
	each := 0
	switch {
	case counts == nil && displs != nil, counts != nil && len(counts) != n:
		return nil, errclass.New(errclass.Count, "%d counts for %d ranks: give one for each", len(counts), n)
	case displs != nil && len(displs) != n:
		return nil, errclass.New(errclass.Arg, "%d displacements for %d ranks: give one for each, or nil", len(displs), n)
	case b.isInPlace():
		return nil, errclass.New(errclass.Buffer, "InPlace has no parts: give memory")
	case counts == nil && n > 0:
		if err := b.evenly(n); err != nil {
			return nil, err
		}
		each = b.count() / n
	}
	_, extent := b.t.Extent()
	list := make([]Buffer, n)
	at := 0
	for i := range n {
		count := each
		if counts != nil {
			count = counts[i]
		}
		if displs != nil {
			at = displs[i]
		}
		part, err := b.part(extent, at, count)
		if err != nil {
			return nil, errclass.Wrap(errclass.Of(err), err, "the piece of rank %d, %d elements from element %d on, is not in the buffer", i, count, at)
		}
		list[i] = part
		at += count
	}
	return list, nil
}

// nowhere is where parts without elements are: nil memory means MPI_IN_PLACE to package coll.
var nowhere byte

// part returns count elements of a buffer, from element at on.
func (b *Buffer) part(extent, at, count int) (Buffer, error) {
	limit := b.bytes + 1
	if count < 0 || count > limit && b.t.Size() > 0 {
		return Buffer{}, errclass.New(errclass.Count, "a count of %d", count)
	}
	if count == 0 {
		return Buffer{first: &nowhere, t: b.t}, nil
	}
	if extent != 0 && (at > limit || at < -limit) {
		return Buffer{}, errclass.New(errclass.Arg, "a displacement of %d elements", at)
	}
	origin := b.origin() + at*extent
	part := Buffer{first: b.first, bytes: b.bytes, t: b.t, more: &more{origin: origin, count: count}}
	return part, fits(b.t, b.bytes, origin, count)
}

// evenly returns an error unless a buffer's elements can be divided evenly among some processes:
// package coll sees only bytes, and would split an element.
func (b *Buffer) evenly(processes int) error {
	if processes != 0 && b.count()%processes != 0 {
		return errclass.New(errclass.Count, "%d elements cannot be divided evenly among %d: each gives or gets as many, unless you give their counts with Buffer.Parts", b.count(), processes)
	}
	return nil
}

// even is evenly for a buffer in one piece.
func (b *Buffer) even(processes int) error {
	if err := b.whole(); err != nil {
		return err
	}
	return b.evenly(processes)
}

// partsOf checks the communicator of a collective operation, and returns the parts of a buffer for
// the ranks that messages go to and come from.
func (c *Comm) partsOf(b *Buffer) ([]Buffer, error) {
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	return b.divided(c.peers)
}

// checkGiven checks the buffer that a process gives. It may be InPlace on an intra-communicator.
func (c *Comm) checkGiven(in *Buffer) error {
	if in.isInPlace() && c.IsInter() {
		return errInPlace
	}
	return in.whole()
}

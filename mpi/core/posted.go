package core

import (
	"cmp"
	"slices"

	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/mpi/core/wire"
)

// post makes a receive available to messages. The only posted receive is in a field of its own,
// others are in the match table. Most of the time there is only one.
func (e *Engine) post(o *op) {
	o.at = atPosted
	if e.onlyRecv == nil && e.match.PostedLen() == 0 {
		e.onlyRecv = o
		return
	}
	e.join()
	o.tabulate()
}

func (o *op) tabulate() {
	o.e.turns++
	o.turn = o.e.turns
	o.ref = o.e.match.Post(o.bits, o.mask, o)
	o.enlist()
}

// join moves the only receive to the table and the lists, for a caller that is about to search
// them.
func (e *Engine) join() {
	if o := e.onlyRecv; o != nil {
		e.onlyRecv = nil
		o.tabulate()
	}
}

// unpost removes a posted receive.
func (e *Engine) unpost(o *op) {
	if o == e.onlyRecv {
		e.onlyRecv = nil
		return
	}
	e.match.RemovePosted(o.ref)
	o.unlist()
}

// arrival removes and returns the receive that matches a message of a process, or nil if there is
// none. ok is false if the rank in the message is not its sender's.
func (e *Engine) arrival(p *Proc, bits matchbits.Bits) (o *op, ok bool) {
	rank := int(wire.SourceOf(uint64(bits)))
	if o = e.onlyRecv; o != nil {
		switch {
		case (o.bits^bits)&^o.mask != 0:
			return nil, true // no other receive is posted
		case !o.scope.isRank(p, rank):
			return nil, false
		}
		e.onlyRecv = nil
		o.at = nowhere
		return o, true
	}
	o, found := e.match.Arrive(bits)
	if !found {
		return nil, true
	}
	if !o.scope.isRank(p, rank) {
		o.putBack()
		return nil, false
	}
	o.unlist()
	o.at = nowhere
	return o, true
}

// putBack posts a receive again that was removed for an imposter's message. It restores the old
// order: the receives of its scope that were posted later are posted again after it.
func (o *op) putBack() {
	later := []*op{o}
	note := func(other *op) {
		if other.scope == o.scope && other.at == atPosted && other.turn > o.turn {
			if _, ok := o.e.match.RemovePosted(other.ref); ok {
				later = append(later, other)
			}
		}
	}
	for _, p := range o.scope.peers {
		for other := p.ops.First(); other != nil; other = other.links.Next() {
			note(other)
		}
	}
	for other := o.scope.anys.First(); other != nil; other = other.links.Next() {
		note(other)
	}
	slices.SortFunc(later, func(a, b *op) int { return cmp.Compare(a.turn, b.turn) })
	for _, r := range later {
		r.ref = o.e.match.Post(r.bits, r.mask, r)
	}
}

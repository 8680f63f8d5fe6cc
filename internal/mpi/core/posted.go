package core

import (
	"cmp"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// A recvQueue has posted receives in the order of their posts, linked by op.next.
type recvQueue struct{ first, last *op }

func (q *recvQueue) push(o *op) {
	o.next = nil
	if q.last != nil {
		q.last.next = o
	} else {
		q.first = o
	}
	q.last = o
}

// remove removes the receive o. before is the receive before it, or nil.
func (q *recvQueue) remove(before, o *op) {
	if before == nil {
		q.first = o.next
	} else {
		before.next = o.next
	}
	if o.next == nil {
		q.last = before
	}
	o.next = nil
}

// post makes a receive available to messages. Receives wait in a queue as long as messages match
// the first few of them, which is usual: a program posts receives in the order in which it expects
// messages. Otherwise all receives are in the match table. One of the two is always empty.
func (e *Engine) post(o *op) {
	o.at = atPosted
	if e.match.PostedLen() == 0 {
		e.recvs.push(o)
		return
	}
	o.tabulate()
}

func (o *op) tabulate() {
	o.e.turns++
	o.turn = o.e.turns
	o.ref = o.e.match.Post(o.bits, o.mask, o)
	o.enlist()
}

// join moves the receives in the queue to the table and the lists, for a caller that is about to
// search them.
func (e *Engine) join() {
	for o := e.recvs.first; o != nil; {
		next := o.next
		o.next = nil
		o.tabulate()
		o = next
	}
	e.recvs = recvQueue{}
}

// unpost removes a posted receive.
func (e *Engine) unpost(o *op) {
	e.join()
	e.match.RemovePosted(o.ref)
	o.unlist()
}

// queueSearchMax is how many receives in the queue are compared with a message.
const queueSearchMax = 8

// arrival removes and returns the receive that matches a message of a process, or nil if there is
// none. ok is false if the rank in the message is not its sender's.
func (e *Engine) arrival(p *Proc, bits matchbits.Bits) (o *op, ok bool) {
	o = e.recvs.first
	if o == nil {
		return e.arrivalInTable(p, bits)
	}
	var before *op
	for n := 1; (o.bits^bits)&^o.mask != 0; n++ {
		if before, o = o, o.next; o == nil {
			return nil, true // no other receive is posted
		}
		if n == queueSearchMax {
			e.join()
			return e.arrivalInTable(p, bits)
		}
	}
	// The bits of a receive from p alone name p's rank.
	if o.only != p && !o.scope.isRank(p, int(wire.SourceOf(uint64(bits)))) {
		return nil, false
	}
	e.recvs.remove(before, o)
	o.at = nowhere
	return o, true
}

// arrivalInTable is arrival if receives are in the match table.
func (e *Engine) arrivalInTable(p *Proc, bits matchbits.Bits) (o *op, ok bool) {
	o, found := e.match.Arrive(bits)
	if !found {
		return nil, true
	}
	if !o.scope.isRank(p, int(wire.SourceOf(uint64(bits)))) {
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

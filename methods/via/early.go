package via

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// early is an expected message, or the announcement of one, that came before
// its receive was posted. It waits on the kept side of the match table.
type early struct {
	r    *remote
	size int // of the message, in bytes
	ref  matchbits.Ref
	kept int // bytes of memory that hold what came; part of remote.earlyBytes

	// One of these holds what came.
	data  []byte    // the message; while it is being assembled, its beginning
	rts   *wire.RTS // an announcement
	local *opState  // a send of this endpoint to itself

	whole      bool // the message is complete
	prev, next *early
}

// earlyList is a doubly linked list of what came early from one peer.
type earlyList struct{ first, last *early }

func (l *earlyList) add(e *early) {
	e.prev, e.next = l.last, nil
	if l.last != nil {
		l.last.next = e
	} else {
		l.first = e
	}
	l.last = e
}

func (l *earlyList) remove(e *early) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		l.last = e.prev
	}
	e.prev, e.next = nil, nil
}

// keep puts something early into the match table.
func (m *method) keep(r *remote, tag uint32, size int) *early {
	e := m.freeEarlies
	if e != nil {
		m.freeEarlies = e.next
		e.next = nil
	} else {
		e = &early{}
	}
	e.r, e.size = r, size
	e.ref = m.match.Keep(r.key|matchbits.Bits(tag), waiting{early: e})
	r.earlies.add(e)
	r.earlyMessages++
	r.count.EarlyReceived++
	return e
}

// letGo forgets something early that is no longer in the match table.
func (m *method) letGo(e *early) {
	r := e.r
	r.earlies.remove(e)
	r.earlyMessages--
	r.earlyBytes -= e.kept
	if e.data != nil {
		m.buffers.Give(e.data)
	}
	*e = early{next: m.freeEarlies}
	m.freeEarlies = e
	if r.withheld > 0 && !r.overLimit() {
		m.relent(r)
	}
	if r.link == nil && r.earlyMessages == 0 {
		m.maybeForget(r)
	}
}

// keepMessage keeps a whole message.
func (m *method) keepMessage(r *remote, tag uint32, body []byte) {
	e := m.keepFirst(r, tag, len(body), body)
	m.completeEarly(r, e)
}

// keepFirst keeps the beginning of a message.
func (m *method) keepFirst(r *remote, tag uint32, size int, body []byte) *early {
	e := m.keep(r, tag, size)
	e.data = append(m.buffers.Take(size), body...)
	e.charge(cap(e.data))
	return e
}

// keepAnnouncement keeps a copy of an announcement. What it announces stays with
// the peer, and is charged to nobody.
func (m *method) keepAnnouncement(r *remote, tag uint32, rts *wire.RTS) {
	e := m.keep(r, tag, int(rts.Size))
	e.rts = &wire.RTS{Op: rts.Op, Size: rts.Size, Pieces: slices.Clone(rts.Pieces)}
	e.charge(rts.Len()) // the copy takes about as much as the packet
}

// charge counts memory towards the peer's limit.
func (e *early) charge(bytes int) {
	e.kept += bytes
	e.r.earlyBytes += bytes
}

func (m *method) completeEarly(r *remote, e *early) {
	e.whole = true
	r.count.receivedEager(e.size)
}

// deliverEarly joins a receive that is being posted with what came early.
func (m *method) deliverEarly(r *remote, op *bmi.Op, e *early) {
	switch {
	case e.local != nil:
		m.deliverLocal(r, op, e)
	case e.rts != nil:
		rts := e.rts
		m.letGo(e)
		m.startLarge(m.begin(r, op, phaseMoving), rts)
	case e.size > op.Size:
		if !e.whole {
			r.assembly.early = nil // the rest is thrown away
		}
		size := e.size
		m.letGo(e)
		err := r.truncation(size, op.Size)
		m.countError(err)
		op.Complete(size, err)
	case !e.whole:
		s := m.begin(r, op, phaseAssembling)
		scatter(op.Bufs, 0, e.data)
		r.assembly.early, r.assembly.recv = nil, s
		m.letGo(e)
	default:
		scatter(op.Bufs, 0, e.data)
		size := e.size
		m.letGo(e)
		op.Complete(size, nil)
	}
}

// dropEarly throws away everything that came early from a peer. A send of this
// endpoint to itself goes with its operation.
func (m *method) dropEarly(r *remote) {
	var next *early
	for e := r.earlies.first; e != nil; e = next {
		next = e.next
		if e.local == nil {
			m.match.RemoveKept(e.ref)
			m.letGo(e)
		}
	}
	r.assembly.early = nil
}

// dropUnfinished throws away what came early and cannot be had any more
// because the link is gone: announcements, and a message half arrived. What
// arrived whole was accepted and waits on for its receive.
func (m *method) dropUnfinished(r *remote) {
	var next *early
	for e := r.earlies.first; e != nil; e = next {
		next = e.next
		if !e.whole && e.local == nil {
			m.match.RemoveKept(e.ref)
			m.letGo(e)
		}
	}
}

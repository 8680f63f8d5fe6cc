package via

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// held is an unexpected message that the endpoint has no room for now.
type held struct {
	class bmi.Class
	tag   bmi.Tag
	data  []byte
	next  *held
}

func (h *held) Link() **held { return &h.next }

// unexpected hands an unexpected message of one packet to the endpoint, or
// holds a copy of it. Credits for what is held are withheld, so a peer can
// have no more held than receives were posted for it.
func (m *method) unexpected(r *remote, class bmi.Class, tag bmi.Tag, body []byte) {
	r.count.receivedUnexpected(len(body))
	if r.held.Head() == nil {
		body = m.private(body)
		if m.host.Arrived(r.addr, class, tag, body) {
			return
		}
	}
	m.hold(r, class, tag, append(m.buffers.Take(len(body)), body...))
}

// unexpectedWhole does the same with a message that was assembled.
func (m *method) unexpectedWhole(r *remote, a assembly) {
	r.count.receivedUnexpected(a.length)
	tag := bmi.Tag(a.tag)
	if r.held.Head() == nil && m.host.Arrived(r.addr, a.class, tag, a.buf) {
		m.buffers.Give(a.buf)
		return
	}
	m.hold(r, a.class, tag, a.buf)
}

// private returns body, or a copy of it if the peer could still change it while
// a handler looks at it (docs/decisions/0001). A NIC that lends its buffers does
// not lend them for what fits a completion entry (nic.FlagLoan).
func (m *method) private(body []byte) []byte {
	if !m.caps.LoansRecv || wire.HeaderLen+len(body) <= m.caps.InlineBytesMax {
		return body
	}
	m.scratch = append(m.scratch[:0], body...)
	return m.scratch
}

func (m *method) hold(r *remote, class bmi.Class, tag bmi.Tag, data []byte) {
	r.count.HeldUnexpected++
	r.held.Push(&held{class: class, tag: tag, data: data})
	if !r.holding {
		r.holding = true
		m.holding = append(m.holding, r)
	}
}

// offerHeld offers the held messages of all peers again. It reports whether one
// was taken.
func (m *method) offerHeld() (did bool) {
	// A handler may hold or drop more meanwhile: peers are taken off the list
	// before their messages are offered.
	offer := m.holding
	m.holding = m.offering[:0]
	for _, r := range offer {
		r.holding = false
		for last := r.held.Tail(); r.held.Head() != nil; {
			h := r.held.Pop()
			if !m.host.Arrived(r.addr, h.class, h.tag, h.data) {
				r.held.PutBack(h)
				break
			}
			did = true
			m.buffers.Give(h.data)
			if h == last {
				break // what a handler sent to itself waits for the next Poll
			}
		}
		if r.held.Head() != nil && !r.holding {
			r.holding = true
			m.holding = append(m.holding, r)
		}
		if r.withheld > 0 && !r.overLimit() {
			m.relent(r)
		}
	}
	clear(offer)
	m.offering = offer[:0]
	return did
}

// dropHeld throws away what is held of a peer.
func (m *method) dropHeld(r *remote) {
	for r.held.Head() != nil {
		m.buffers.Give(r.held.Pop().data)
	}
}

// relent gives the peer the credits that were withheld.
func (m *method) relent(r *remote) {
	for ; r.withheld > 0; r.withheld-- {
		r.credits.owe()
	}
	if r.open && r.credits.mustReturn(r.withheld) {
		m.returnCredits(r)
	}
}

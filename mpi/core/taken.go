package core

import "github.com/viaduct-hpc/viaduct/mpi/core/wire"

// taken takes a message out of the matching for a matched probe. From now on it counts as
// received, although it still is where it was.
func (e *Engine) taken(m *early) {
	e.match.RemoveKept(m.ref)
	m.p.earlies.Remove(m)
	m.p.taken.Add(m)
	m.taken = true
	if m.send != nil {
		m.send.at = atTaken // it cannot be cancelled
	}
}

// untake lets go of a message that is received, or never will be.
func (m *early) untake() {
	if m.taken {
		m.taken = false
		m.p.taken.Remove(m)
	}
}

// answerTaken ends the sends of messages that matched probes have taken, for which their senders
// would wait until somebody receives them: of a scope that has ended nobody need.
func (s *Scope) answerTaken(p *Proc) {
	e := s.e
	for m := p.taken.First(); m != nil; {
		next := p.taken.Next(m)
		if wire.ContextOf(uint64(m.bits)) == uint16(s.id) && s.bars(m.bits) && m.id != 0 && !m.l.gone {
			if m.piece == 0 {
				m.l.post(wire.KindAck, wire.Ack{Credit: p.tell(), ID: m.id}.Append(e.packetBuffer()))
				m.id = 0 // and the message is here
			} else {
				m.untake()
				m.lost = s.barred(m.bits)
				p.consumed += m.charge
				c := wire.CTS{Credit: p.tell(), ID: m.id, Tag: uint32(p.nextTag())} // of nothing
				m.l.post(wire.KindCTS, c.Append(e.packetBuffer()))
			}
		}
		m = next
	}
}

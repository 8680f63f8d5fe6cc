package core

import "github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"

// taken removes a message from matching for a matched probe. From now on the message counts as
// received, although it keeps its memory.
func (e *Engine) taken(m *early) {
	e.match.RemoveKept(m.ref)
	m.p.earlies.Remove(&m.links)
	m.p.taken.Add(m, &m.links)
	m.taken = true
	if m.send != nil {
		m.send.at = atTaken // can no longer be cancelled
	}
}

// leaveTaken removes a message from the list when it is received, or can no longer be.
func (m *early) leaveTaken() {
	if m.taken {
		m.taken = false
		m.p.taken.Remove(&m.links)
	}
}

// answerTaken ends the sends whose messages matched probes have taken but the program has not
// received. In a scope that has ended their senders need not wait for the receive.
func (s *Scope) answerTaken(p *Proc) {
	e := s.e
	for m := p.taken.First(); m != nil; {
		next := m.links.Next()
		if wire.ContextOf(uint64(m.bits)) == uint16(s.id) && s.bars(m.bits) && m.id != 0 && !m.l.gone {
			if m.piece == 0 {
				m.l.post(wire.KindAck, wire.Ack{Credit: p.tell(), ID: m.id}.Append(e.packetBuffer()))
				m.id = 0 // the message stays here
			} else {
				m.leaveTaken()
				m.lost = s.barred(m.bits)
				p.consumed += m.charge
				c := wire.CTS{Credit: p.tell(), ID: m.id, Tag: uint32(p.nextTag())} // for 0 bytes
				m.l.post(wire.KindCTS, c.Append(e.packetBuffer()))
			}
		}
		m = next
	}
}

package core

// takeNamed removes from the match table the message of a process whose send has this id. It
// returns nil if the message is not there any more. A process that cancels one send may cancel tens
// of thousands, so after the first CANCEL messages are found by a map of ids.
func (p *Proc) takeNamed(id uint32) *early {
	if p.names == nil {
		p.names = make(map[uint32]*early, p.earlies.Len())
		for m := p.earlies.First(); m != nil; m = m.links.Next() {
			if m.id != 0 {
				p.names[m.id] = m
			}
		}
	}
	m := p.names[id]
	delete(p.names, id)
	if m == nil || m.p != p || m.id != id {
		return nil // it was received, and its memory is another message now
	}
	if _, kept := p.e.match.RemoveKept(m.ref); !kept {
		return nil
	}
	p.earlies.Remove(&m.links)
	return m
}

// rename adds a kept message to the map of ids. Ids of received messages stay for a while, but the
// map is never much larger than the number of messages.
func (p *Proc) rename(m *early) {
	if p.names == nil || m.id == 0 {
		return
	}
	if len(p.names) > 2*p.earlies.Len()+64 {
		p.names = nil
		return
	}
	p.names[m.id] = m
}

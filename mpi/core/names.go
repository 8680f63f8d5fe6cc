package core

// takeNamed takes the message of a process whose send has this name out of the match table; nil
// if no receive waits for it there. Who cancels one send may cancel all, of which there can be
// tens of thousands, so from the first time on they are found by their names.
func (p *Proc) takeNamed(id uint32) *early {
	if p.names == nil {
		p.names = make(map[uint32]*early, p.earlies.Len())
		for m := p.earlies.First(); m != nil; m = p.earlies.Next(m) {
			if m.id != 0 {
				p.names[m.id] = m
			}
		}
	}
	m := p.names[id]
	delete(p.names, id)
	if m == nil || m.p != p || m.id != id {
		return nil // it was received, and is another message by now
	}
	if _, kept := p.e.match.RemoveKept(m.ref); !kept {
		return nil
	}
	p.earlies.Remove(m)
	return m
}

// rename notes the name of a message that is kept. The names of those that were received stay for
// a while, but there are never many more of them than messages.
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

package methodtest_test

import "github.com/viaduct-hpc/viaduct/bmi"

// spoilLocked applies the flaws that change a message.
func (m *flawedMethod) spoilLocked(p *flawedPacket, op *bmi.Op) {
	switch m.net.flaw {
	case corruptsLarge:
		if m.net.hitsLocked(corruptsLarge) && p.size > flawedEager {
			p.data[p.size/2] ^= 1
		}
	case corruptsSmall:
		if p.size > 0 && p.size <= flawedEager || p.kind == bmi.KindSendUnexpected && p.size > 0 {
			p.data[0] ^= 1
		}
	case skipsAfterEmpty:
		for i, b := range op.Bufs {
			if len(b) == 0 {
				p.data = gather(op.Bufs[:i])
				break
			}
		}
	case liesAboutPieces:
		p.data = gather(op.Bufs[:min(len(op.Bufs), flawedPieces/2)])
	case readsLate:
		p.data = op.Bufs[0]
	case forgetsClass:
		p.class = 0
	case wrongSender:
		if p.kind == bmi.KindSendUnexpected {
			p.from = "somebody-else"
		}
	}
}

// dispatchLocked sends a message, with the flaws of a bad network.
func (m *flawedMethod) dispatchLocked(to *flawedNode, p *flawedPacket) {
	n := m.net
	unexpected, large := p.kind == bmi.KindSendUnexpected, p.size > flawedEager
	switch {
	case n.hitsLocked(losesEager) && !unexpected && !large,
		n.hitsLocked(losesLarge) && !unexpected && large,
		n.hitsLocked(losesUnexpected) && unexpected,
		n.flaw == losesEmpty && !unexpected && p.size == 0:
		return
	case n.flaw == overflows && len(to.inbox) > 20:
		return
	case n.flaw == delaysUnexpected && unexpected && m.delayed == nil:
		m.delayed = p
		return
	case n.flaw == discardsOnClose:
		m.outbox = append(m.outbox, func() { n.deliverLocked(to, p) })
		return
	}
	n.deliverLocked(to, p)
	if m.delayed != nil {
		n.deliverLocked(to, m.delayed)
		m.delayed = nil
	}
	if n.hitsLocked(repeatsMessage) && !unexpected && !large || n.hitsLocked(repeatsUnexpected) && unexpected {
		again := *p
		n.deliverLocked(to, &again)
	}
}

// flushEvery is how many polls a send waits with a method that discards its
// sends when it closes.
const flushEvery = 10

func (m *flawedMethod) flushLocked() {
	if m.polls++; m.polls < flushEvery {
		return
	}
	m.polls = 0
	for _, deliver := range m.outbox {
		deliver()
	}
	m.outbox = nil
}

// truncate returns the results for a message that is longer than its receive.
func (m *flawedMethod) truncate(op *bmi.Op, p *flawedPacket) (err error, size int, sendErr error) {
	switch m.net.flaw {
	case ignoresTruncation:
		return nil, op.Size, nil
	case forgetsLength:
		return bmi.ErrTruncated, op.Size, nil
	case truncationSpreads:
		return bmi.ErrTruncated, p.size, bmi.ErrTruncated
	case keepsRest:
		rest := *p
		rest.op, rest.data, rest.size = nil, p.data[op.Size:], p.size-op.Size
		m.net.mu.Lock()
		m.node.inbox = append([]*flawedPacket{&rest}, m.node.inbox...)
		m.net.mu.Unlock()
		m.node.host.Wake()
	}
	return bmi.ErrTruncated, p.size, nil
}

package bmitest

import (
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Poll implements bmi.Method.
func (m *method) Poll() bool {
	if !m.node.events.Load() && !m.held {
		return false
	}
	m.node.events.Store(false)
	happened := m.finish()
	happened = m.welcome() || happened
	m.held = false
	// A handler may look up or drop peers meanwhile.
	for i := 0; i < len(m.peers); i++ {
		if p := m.peers[i]; p.conn != nil {
			happened = m.serve(p) || happened
		}
	}
	return happened
}

// finish completes the sends that their receivers have taken.
func (m *method) finish() bool {
	n := m.opts.Network
	n.mu.Lock()
	m.ends, m.node.ends = m.node.ends, m.ends[:0]
	n.mu.Unlock()
	ends := m.ends
	for _, e := range ends {
		e.op.Peer.(*peer).returned(e.op)
		e.op.Complete(e.size, e.err)
	}
	return len(ends) > 0
}

// welcome adopts the connections that other nodes made.
func (m *method) welcome() bool {
	n := m.opts.Network
	n.mu.Lock()
	m.fresh, m.node.fresh = m.node.fresh, m.fresh[:0]
	n.mu.Unlock()
	for _, c := range m.fresh {
		n.mu.Lock()
		from := c.nodes[0]
		if from == m.node {
			from = c.nodes[1]
		}
		name := from.nameLocked()
		n.mu.Unlock()
		p := m.peer(name)
		if p.conn == c {
			continue // this side has posted to it in the meantime
		}
		if p.conn != nil { // the peer restarted
			m.settle(p, bmi.ErrPeerFailed)
		}
		m.adopt(p, c)
	}
	return len(m.fresh) > 0
}

// serve delivers what a peer sent, and settles its operations if the peer has left.
func (m *method) serve(p *peer) bool {
	c := p.conn
	happened := false
	for p.conn == c && m.expected(p) {
		happened = true
	}
	held := false
	for p.conn == c && !held {
		var more bool
		if more, held = m.unexpected(p); !more {
			break
		}
		happened = happened || !held
	}
	if p.conn != c {
		return true
	}
	n := m.opts.Network
	n.mu.Lock()
	left := c.closed && p.in.expected.n == 0 && p.in.unexpected.n == 0
	n.mu.Unlock()
	if left {
		m.total.Errors.PeerFailed++
		m.settle(p, bmi.ErrPeerFailed)
		return true
	}
	m.held = m.held || held
	return happened
}

// expected delivers the next expected message to its receive, or keeps it until the
// receive is posted.
func (m *method) expected(p *peer) bool {
	n := m.opts.Network
	n.mu.Lock()
	q := &p.in.expected
	if q.n == 0 {
		n.mu.Unlock()
		return false
	}
	i := slices.IndexFunc(p.recvs, func(op *bmi.Op) bool { return op.Tag == q.first.tag })
	if i < 0 {
		room := len(p.early) < m.opts.EarlyMessages || p.conn.closed
		if room {
			pk := q.pop()
			if pk.op != nil && pk.size <= m.opts.EagerSize {
				// It waited only for a credit; the sender need not wait for the
				// receive.
				pk.fill(pk.op)
				m.returnLocked(pk)
			}
			p.early = append(p.early, pk)
			p.stats.EarlyReceived++
			m.total.EarlyReceived++
		}
		n.mu.Unlock()
		return room
	}
	pk, op := q.pop(), p.recvs[i]
	kind := pk.kind
	size, err, cancelled := m.takeLocked(p, pk, op)
	n.mu.Unlock()
	if !cancelled {
		p.recvs = slices.Delete(p.recvs, i, i+1)
		m.count(p, kind, size, err)
		op.Complete(size, err)
	}
	return true
}

// takeLocked moves a message into a receive and frees the packet, unless the sender
// has taken the message back.
func (m *method) takeLocked(p *peer, pk *packet, op *bmi.Op) (size int, err error, cancelled bool) {
	n := m.opts.Network
	defer n.freeLocked(pk)
	switch {
	case pk.cancelled:
		return 0, nil, true
	case pk.size > op.Size:
		err = bmi.ErrTruncated
	case pk.op != nil && pk.op.File.File == nil:
		scatter(op.Bufs, pk.op.Bufs...)
	default:
		scatter(op.Bufs, pk.data)
	}
	m.returnLocked(pk)
	return pk.size, err, false
}

// scatter copies pieces into pieces; to is long enough.
func scatter(to [][]byte, from ...[]byte) {
	at, i := 0, 0
	for _, b := range from {
		for len(b) > 0 {
			n := copy(to[i][at:], b)
			b, at = b[n:], at+n
			if at == len(to[i]) {
				i, at = i+1, 0
			}
		}
	}
}

// returnLocked gives a sender its memory back.
func (m *method) returnLocked(pk *packet) {
	if pk.op == nil {
		return
	}
	from := pk.from
	from.ends = append(from.ends, ending{pk.op, pk.size, nil})
	pk.op = nil
	from.notify()
}

// unexpected offers the next unexpected message to the endpoint.
func (m *method) unexpected(p *peer) (more, held bool) {
	n := m.opts.Network
	n.mu.Lock()
	q := &p.in.unexpected
	if q.n == 0 {
		n.mu.Unlock()
		return false, false
	}
	pk := q.pop()
	if pk.cancelled {
		n.freeLocked(pk)
		n.mu.Unlock()
		return true, false
	}
	if pk.op != nil {
		pk.fill(pk.op)
		m.returnLocked(pk)
	}
	in := p.in
	n.mu.Unlock()

	taken := m.host.Arrived(p.addr, pk.cls, pk.tag, pk.data)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !taken {
		in.unexpected.pushFront(pk)
		p.stats.HeldUnexpected++
		m.total.HeldUnexpected++
		return true, true
	}
	kind, size := pk.kind, pk.size
	n.freeLocked(pk)
	m.count(p, kind, size, nil)
	return true, false
}

// count notes a message received.
func (m *method) count(p *peer, kind bmi.Kind, size int, err error) {
	if err != nil {
		m.total.Errors.Truncated++
	}
	for _, t := range []*bmi.Traffic{&p.stats, &m.total.Traffic} {
		t.MessagesReceived++
		t.BytesReceived += uint64(size)
		if size <= m.opts.EagerSize {
			t.EagerReceived++
		} else {
			t.RendezvousReceived++
		}
		if kind == bmi.KindSendUnexpected {
			t.UnexpectedReceived++
		}
	}
}

// Arm implements bmi.Sleeper.
func (m *method) Arm() bool {
	m.node.armed.Store(true)
	return !m.node.events.Load()
}

// Disarm implements bmi.Sleeper.
func (m *method) Disarm() { m.node.armed.Store(false) }

// Sleep implements bmi.Sleeper.
func (m *method) Sleep(timeout time.Duration) {
	if timeout < 0 {
		<-m.node.wake
		return
	}
	m.timer.Reset(timeout)
	select {
	case <-m.node.wake:
	case <-m.timer.C:
	}
	m.timer.Stop()
}

// Wake implements bmi.Sleeper.
func (m *method) Wake() { m.node.rouse() }

package methodtest_test

import (
	"context"
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Sizes of the flawed method.
const (
	flawedEager      = 1 << 10
	flawedUnexpected = 4 << 10
	flawedMax        = 2 << 20
	flawedPieces     = 32
)

type flawedMethod struct {
	net    *flawedNet
	node   *flawedNode
	listen []string
	peers  map[string]*flawedPeer

	posted []*bmi.Op // receives, in post order
	sends  []*flawedPacket
	early  []*flawedPacket
	held   []*flawedPacket // unexpected messages that Arrived refused

	// Fields that the flaws need.
	old     [][]byte      // memory of receives that completed
	second  *bmi.Op       // an operation that completed and will again
	ghosts  []*bmi.Op     // copies of receives that were cancelled
	delayed *flawedPacket // waits for the next one, to be overtaken
	shared  []byte        // what every Alloc returns
	inside  bool          // a handler may be running
	outbox  []func()      // sends that are not sent yet
	polls   int

	counted bmi.MethodStats
}

type flawedPeer struct {
	name   string
	addr   bmi.Addr
	talked bool // a message went in either direction
	heard  bool // a message arrived
	absent bool // was missing at a send once

	mumbles bool
}

func (p *flawedPeer) String() string {
	if p.mumbles {
		return "somebody"
	}
	return flawedScheme + "://" + p.name
}

func (m *flawedMethod) Info() bmi.Info {
	listen := m.listen
	if m.net.flaw == hidesItsAddress {
		listen = nil
	}
	return bmi.Info{
		Name: flawedScheme, Description: "a method with one flaw", Provider: "memory",
		MaxExpectedSize: flawedMax, MaxUnexpectedSize: flawedUnexpected, EagerSize: flawedEager,
		MaxPieces: flawedPieces, Classes: true, FileSends: true, RemoteAccess: true, Addresses: listen,
	}
}

func (m *flawedMethod) Resolve(address string) (bmi.Addr, error) {
	name, err := flawedName(address)
	if err != nil && m.net.flaw != takesAnyAddress {
		return bmi.Addr{}, err
	}
	if m.net.flaw == freshAddresses {
		delete(m.peers, name)
	}
	return m.peer(name).addr, nil
}

func (m *flawedMethod) peer(name string) *flawedPeer {
	p := m.peers[name]
	if p == nil {
		p = &flawedPeer{name: name, mumbles: m.net.flaw == mumbles}
		p.addr = m.node.host.NewAddr(p)
		m.peers[name] = p
	}
	return p
}

func (m *flawedMethod) PostSend(op *bmi.Op) { m.post(op, gather(op.Bufs)) }

// post sends a message.
func (m *flawedMethod) post(op *bmi.Op, data []byte) {
	peer := op.Peer.(*flawedPeer)
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	to := m.net.nodeLocked(peer.name)
	if m.net.flaw == losesFromHandlers && m.inside {
		op.Complete(op.Size, nil)
		return
	}
	if to == nil || to.gone || m.net.flaw == remembersAbsence && peer.absent {
		peer.absent = true
		if m.net.flaw != waitsForNobody {
			op.Complete(0, bmi.ErrUnreachable)
		}
		return
	}
	peer.talked = true
	m.net.sent++
	m.counted.MessagesSent++
	m.counted.BytesSent += uint64(op.Size)
	p := &flawedPacket{
		from: m.net.seenFrom(m.node.name, peer.name), kind: op.Kind, class: op.Class, tag: op.Tag, size: op.Size,
		data: data, owner: m.node,
	}
	m.spoilLocked(p, op)
	large := op.Size > flawedEager && op.Kind == bmi.KindSend
	if large {
		p.op = op
		m.sends = append(m.sends, p)
	}
	m.dispatchLocked(to, p)
	if !large {
		op.Complete(op.Size, nil)
	}
}

func gather(bufs [][]byte) []byte {
	data := []byte{}
	for _, b := range bufs {
		data = append(data, b...)
	}
	return data
}

func scatter(bufs [][]byte, data []byte) {
	for _, b := range bufs {
		data = data[copy(b, data):]
	}
}

func (m *flawedMethod) PostRecv(op *bmi.Op) {
	if m.second == op {
		// The operation is in use again.
		m.second = nil
		op.Complete(0, nil)
		return
	}
	for i := 0; i < len(m.early); i++ {
		p := m.early[i]
		if !m.matches(op, p) {
			continue
		}
		m.early = slices.Delete(m.early, i, i+1)
		if m.net.claim(p) {
			m.take(op, p)
			return
		}
		i--
	}
	if m.net.flaw == matchesNewest {
		m.posted = slices.Insert(m.posted, 0, op)
		return
	}
	m.posted = append(m.posted, op)
}

func (m *flawedMethod) matches(op *bmi.Op, p *flawedPacket) bool {
	samePeer := op.Peer.(*flawedPeer).name == p.from || m.net.flaw == matchesAnyPeer
	mask := ^bmi.Tag(0)
	if m.net.flaw == matchesLowTag {
		mask = 0xff
	}
	return samePeer && op.Tag&mask == p.tag&mask
}

// take delivers a message to the receive that it matches.
func (m *flawedMethod) take(op *bmi.Op, p *flawedPacket) {
	m.counted.MessagesReceived++
	m.counted.BytesReceived += uint64(p.size)
	m.makeUp(p)
	var err, sendErr error
	size := p.size
	if p.size > op.Size {
		err, size, sendErr = m.truncate(op, p)
	}
	if m.net.flaw == spillsOver {
		// The flaw: it writes up to 8 bytes beyond the end of the message, if the buffer has room.
		p.data = append(p.data, make([]byte, 8)...)
	}
	scatter(op.Bufs, p.data)
	m.net.mu.Lock()
	m.net.endLocked(p, sendErr)
	m.net.mu.Unlock()
	m.old = append(m.old, op.Bufs[0])
	if m.net.flaw == completesTwice && m.second == nil {
		m.second = op
	}
	op.Complete(size, err)
}

func (m *flawedMethod) Cancel(op *bmi.Op) {
	if m.net.flaw == ignoresCancel || m.net.flaw == ignoresHandlersCancel && m.inside ||
		m.net.flaw == ignoresCancelOfSends && op.Kind != bmi.KindRecv {
		return
	}
	if i := slices.Index(m.posted, op); i >= 0 {
		m.posted = slices.Delete(m.posted, i, i+1)
		if m.net.flaw == cancelEats {
			m.ghosts = append(m.ghosts, &bmi.Op{Peer: op.Peer, Tag: op.Tag})
		}
		op.Complete(0, bmi.ErrCancelled)
		return
	}
	if m.recall(func(p *flawedPacket) bool { return p.op == op }) {
		op.Complete(0, bmi.ErrCancelled)
	}
}

// recall takes back large sends that were not received yet.
func (m *flawedMethod) recall(which func(*flawedPacket) bool) bool {
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	found := false
	for _, p := range m.sends {
		if p.op != nil && !p.claimed && which(p) {
			p.op, p.recalled, found = nil, true, true
		}
	}
	return found
}

func (m *flawedMethod) Poll() bool {
	m.net.mu.Lock()
	m.flushLocked()
	ended, inbox := m.node.ended, m.node.inbox
	m.node.ended, m.node.inbox = nil, nil
	if m.net.flaw == holdsUpAll && len(m.held) > 0 {
		inbox, m.node.inbox = nil, inbox
	}
	m.sends = slices.DeleteFunc(m.sends, func(p *flawedPacket) bool { return p.op == nil })
	m.net.mu.Unlock()
	for _, e := range ended {
		e.op.Complete(e.op.Size, e.err)
	}
	held := m.held
	m.held = nil
	for _, p := range append(held, inbox...) {
		m.arrived(p)
	}
	return len(ended)+len(inbox) > 0
}

func (m *flawedMethod) arrived(p *flawedPacket) {
	peer := m.peer(p.from)
	switch {
	case p.leave:
		m.fail(peer, bmi.ErrPeerFailed, false)
	case m.net.flaw == collides && peer.talked && !peer.heard:
		peer.heard = true // both connected at once: this one yields
	case p.kind == bmi.KindSendUnexpected:
		peer.talked, peer.heard = true, true
		waits := slices.ContainsFunc(m.held, func(h *flawedPacket) bool { return h.from == p.from })
		if (waits || !m.offer(peer, p)) && m.net.flaw != dropsRefused {
			m.held = append(m.held, p)
		}
	default:
		peer.talked, peer.heard = true, true
		m.match(p)
	}
}

func (m *flawedMethod) offer(peer *flawedPeer, p *flawedPacket) bool {
	m.inside = true
	defer func() { m.inside = false }()
	return m.node.host.Arrived(peer.addr, p.class, p.tag, p.data)
}

func (m *flawedMethod) match(p *flawedPacket) {
	for i, op := range m.ghosts {
		if m.matches(op, p) {
			m.ghosts = slices.Delete(m.ghosts, i, i+1)
			return
		}
	}
	for i, op := range m.posted {
		if m.matches(op, p) {
			if m.net.claim(p) {
				m.posted = slices.Delete(m.posted, i, i+1)
				m.take(op, p)
			}
			return
		}
	}
	if m.net.flaw == earlyNewestFirst {
		m.early = slices.Insert(m.early, 0, p)
		return
	}
	m.early = append(m.early, p)
}

// fail ends all operations with a peer.
func (m *flawedMethod) fail(peer *flawedPeer, err error, drop bool) {
	peer.talked = false
	m.endExposures(peer)
	withPeer := func(p *flawedPacket) bool { return p.from == peer.name }
	var ops []*bmi.Op
	m.posted = slices.DeleteFunc(m.posted, func(op *bmi.Op) bool {
		mine := op.Peer == bmi.Peer(peer) || m.net.flaw == failsEverybody
		if mine {
			ops = append(ops, op)
		}
		return mine
	})
	m.net.mu.Lock()
	for _, p := range m.sends {
		if p.op != nil && !p.claimed && p.op.Peer == bmi.Peer(peer) {
			ops = append(ops, p.op)
			p.op, p.recalled = nil, true
		}
	}
	m.net.mu.Unlock()
	if m.net.flaw != dropKeepsEarly || !drop {
		m.early = slices.DeleteFunc(m.early, withPeer)
	}
	m.held = slices.DeleteFunc(m.held, withPeer)
	for _, op := range ops {
		if m.net.flaw == forgetsOneOp && op == ops[len(ops)-1] {
			continue
		}
		op.Complete(0, err)
	}
}

// Drop implements bmi.Dropper.
func (m *flawedMethod) Drop(p bmi.Peer) {
	peer := p.(*flawedPeer)
	talked := peer.talked
	if m.net.flaw != dropsNothing {
		m.fail(peer, bmi.ErrDropped, true)
	}
	delete(m.peers, peer.name)
	if !talked || m.net.flaw == leavesSilently {
		return
	}
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	if to := m.net.nodeLocked(peer.name); to != nil {
		m.net.deliverLocked(to, &flawedPacket{from: m.net.seenFrom(m.node.name, peer.name), leave: true})
	}
}

func (m *flawedMethod) talkedTo() map[string]bool {
	names := make(map[string]bool)
	for name, p := range m.peers {
		if p.talked {
			names[name] = true
		}
	}
	return names
}

func (m *flawedMethod) Close(context.Context) error {
	if m.net.flaw == hangsInClose {
		<-m.net.over
	}
	if m.net.flaw != discardsOnClose {
		m.net.mu.Lock()
		m.polls = flushEvery
		m.flushLocked()
		m.net.mu.Unlock()
	}
	tell := m.talkedTo()
	for _, p := range m.peers {
		m.fail(p, bmi.ErrClosed, false)
	}
	if m.net.flaw == writesWhenClosed {
		for _, b := range m.old {
			if len(b) > 0 {
				b[0]++
			}
		}
	}
	m.net.leave(m.node, tell)
	return nil
}

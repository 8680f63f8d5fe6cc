package bmitest

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// method is one endpoint's side. Everything in it but node is guarded by the
// engine lock.
type method struct {
	opts  Options
	host  bmi.Host
	node  *node
	info  bmi.Info
	peers []*peer // known, in the order of discovery
	ends  []ending
	fresh []*conn
	// held: a peer's message waits for room in the endpoint, so every Poll offers
	// it again.
	held bool

	memory map[*byte]int // from Alloc
	total  bmi.MethodStats
	timer  *time.Timer
}

// peer is a remote endpoint.
type peer struct {
	name  string
	addr  bmi.Addr
	conn  *conn
	in    *link     // of conn, towards us
	out   *link     // of conn, towards the peer
	recvs []*bmi.Op // posted, in order
	early []*packet // arrived before their receive, in order
	lent  []*bmi.Op // sends whose memory is lent to the receiver
	stats bmi.Traffic
}

// String implements bmi.Peer.
func (p *peer) String() string { return Name + "://" + p.name }

func newMethod(host bmi.Host, o Options) *method {
	m := &method{opts: o, host: host, node: o.Network.newNode(), memory: make(map[*byte]int), timer: time.NewTimer(time.Hour)}
	m.timer.Stop()
	m.info = bmi.Info{
		Name:              Name,
		Description:       "endpoints of one process, in memory, for tests",
		Provider:          "memory",
		MaxExpectedSize:   o.MaxExpectedSize,
		MaxUnexpectedSize: o.MaxUnexpectedSize,
		EagerSize:         o.EagerSize,
		MaxPieces:         o.MaxPieces,
		Classes:           !o.NoClasses,
		RegisteredMemory:  true,
		RemoteRead:        true,
		FileSends:         !o.NoFileSends,
	}
	return m
}

// Info implements bmi.Method.
func (m *method) Info() bmi.Info { return m.info }

// Resolve implements bmi.Method.
func (m *method) Resolve(address string) (bmi.Addr, error) {
	name, err := nameOf(address)
	if err != nil {
		return bmi.Addr{}, err
	}
	return m.peer(name).addr, nil
}

// peer finds or makes the record of a remote endpoint.
func (m *method) peer(name string) *peer {
	for _, p := range m.peers {
		if p.name == name {
			return p
		}
	}
	p := &peer{name: name}
	p.addr = m.host.NewAddr(p)
	m.peers = append(m.peers, p)
	return p
}

// PostSend implements bmi.Method.
func (m *method) PostSend(op *bmi.Op) { m.post(op, nil) }

// PostSendFile implements bmi.FileSender. The bytes are taken at once.
func (m *method) PostSendFile(op *bmi.Op) {
	data := make([]byte, op.Size)
	if err := op.File.Fill(data, 0); err != nil {
		p := op.Peer.(*peer)
		m.abort(p, bmi.ErrPeerFailed)
		op.Complete(0, fmt.Errorf("%w: %s: the connection was closed, since the file to send from cannot be read: %w", bmi.ErrPeerFailed, p, err))
		return
	}
	m.post(op, data)
}

// post sends a message; data holds the bytes read from its file, if it is sent
// from one.
func (m *method) post(op *bmi.Op, data []byte) {
	p, n := op.Peer.(*peer), m.opts.Network
	n.mu.Lock()
	if err := m.connectLocked(p); err != nil {
		n.mu.Unlock()
		m.total.Errors.ConnectFailed++
		op.Complete(0, err)
		return
	}
	q := &p.out.expected
	if op.Kind == bmi.KindSendUnexpected {
		q = &p.out.unexpected
	}
	pk := n.allocLocked()
	pk.kind, pk.cls, pk.tag, pk.size, pk.from = op.Kind, op.Class, op.Tag, op.Size, m.node
	pk.data = append(pk.data[:0], data...)
	eager := op.Size <= m.opts.EagerSize && q.n < m.opts.Credits
	if eager {
		pk.fill(op)
	} else {
		pk.op, op.Private = op, pk
	}
	q.push(pk)
	p.remote(m.node).notify()
	n.mu.Unlock()

	m.countSent(p, op, eager)
	if eager {
		op.Complete(op.Size, nil)
	} else {
		p.lent = append(p.lent, op)
	}
	if m.opts.Posted != nil {
		m.opts.Posted()
		m.Poll()
	}
}

// connectLocked finds or makes the connection to a peer.
func (m *method) connectLocked(p *peer) error {
	if p.conn != nil && !p.conn.closed {
		return nil
	}
	if m.node.gone {
		return fmt.Errorf("%w: this endpoint crashed", bmi.ErrPeerFailed)
	}
	if p.conn != nil {
		// Poll first settles the operations of the old connection.
		return fmt.Errorf("%w: %s", bmi.ErrPeerFailed, p)
	}
	to := m.opts.Network.nodes[p.name]
	if to == nil {
		return bmi.PeerError(bmi.ErrUnreachable, p.String(), nil)
	}
	m.adopt(p, m.node.connectLocked(to))
	return nil
}

// adopt makes c the connection of peer p.
func (m *method) adopt(p *peer, c *conn) {
	p.conn = c
	if c.nodes[0] == m.node {
		p.out, p.in = c.links[1], c.links[0]
	} else {
		p.out, p.in = c.links[0], c.links[1]
	}
	p.stats.Connects++
	m.total.Connects++
	bmi.Report(m.host, bmi.Connected, p.String())
}

// remote is the node at the other end of the peer's connection.
func (p *peer) remote(local *node) *node {
	if p.conn.nodes[0] == local {
		return p.conn.nodes[1]
	}
	return p.conn.nodes[0]
}

func (m *method) countSent(p *peer, op *bmi.Op, eager bool) {
	for _, t := range []*bmi.Traffic{&p.stats, &m.total.Traffic} {
		t.MessagesSent++
		t.BytesSent += uint64(op.Size)
		switch {
		case eager:
			t.EagerSent++
		case op.Size > m.opts.EagerSize:
			t.RendezvousSent++
		default:
			t.CreditStalls++
		}
		if op.Kind == bmi.KindSendUnexpected {
			t.UnexpectedSent++
		}
	}
}

// PostRecv implements bmi.Method.
func (m *method) PostRecv(op *bmi.Op) {
	p, n := op.Peer.(*peer), m.opts.Network
	for i, pk := range p.early {
		if pk.tag != op.Tag {
			continue
		}
		p.early = slices.Delete(p.early, i, i+1)
		n.mu.Lock()
		size, err, cancelled := m.takeLocked(p, pk, op)
		n.mu.Unlock()
		if cancelled {
			m.PostRecv(op) // the next, if any
			return
		}
		m.node.events.Store(true) // there may be room for a message that is held
		m.count(p, bmi.KindSend, size, err)
		op.Complete(size, err)
		return
	}
	p.recvs = append(p.recvs, op)
}

// Cancel implements bmi.Method.
func (m *method) Cancel(op *bmi.Op) {
	p, n := op.Peer.(*peer), m.opts.Network
	if i := slices.Index(p.recvs, op); i >= 0 {
		p.recvs = slices.Delete(p.recvs, i, i+1)
		m.total.Errors.Cancelled++
		op.Complete(0, bmi.ErrCancelled)
		return
	}
	if op.Kind == bmi.KindRecv {
		return // completed already
	}
	n.mu.Lock()
	ours := withdrawLocked(op)
	n.mu.Unlock()
	if !ours {
		return // the receiver took it first; Poll completes it
	}
	m.total.Errors.Cancelled++
	p.returned(op)
	op.Complete(0, bmi.ErrCancelled)
}

// withdrawLocked takes back a send that still lends its memory. Its packet stays
// in the link, empty, and the receiver discards it.
func withdrawLocked(op *bmi.Op) bool {
	pk := op.Private.(*packet)
	if pk.op != op {
		return false
	}
	pk.op, pk.cancelled = nil, true
	return true
}

// returned notes that a send no longer lends its memory.
func (p *peer) returned(op *bmi.Op) {
	if i := slices.Index(p.lent, op); i >= 0 {
		p.lent = slices.Delete(p.lent, i, i+1)
	}
}

// Close implements bmi.Method.
func (m *method) Close(context.Context) error {
	m.opts.Network.remove(m.node)
	for _, p := range m.peers {
		m.abort(p, bmi.ErrClosed)
	}
	m.finish()
	m.timer.Stop()
	return nil
}

// abort ends the connection of a peer, discards the messages that came from it
// and completes the operations posted with it.
func (m *method) abort(p *peer, err error) {
	n := m.opts.Network
	n.mu.Lock()
	if p.conn != nil {
		p.conn.closeLocked()
	}
	n.mu.Unlock()
	p.early = nil
	m.settle(p, err)
}

// settle completes the operations posted with a peer whose connection ended.
func (m *method) settle(p *peer, err error) {
	if p.conn != nil {
		p.conn, p.in, p.out = nil, nil, nil
		p.stats.Disconnects++
		m.total.Disconnects++
		bmi.Report(m.host, bmi.Disconnected, p.String())
	}
	recvs, lent := p.recvs, p.lent
	p.recvs, p.lent = nil, nil
	for _, op := range recvs {
		op.Complete(0, err)
	}
	for _, op := range lent {
		m.opts.Network.mu.Lock()
		ours := withdrawLocked(op)
		m.opts.Network.mu.Unlock()
		if ours {
			op.Complete(0, err)
		}
	}
	m.finish()
}

// Drop implements bmi.Dropper.
func (m *method) Drop(remote bmi.Peer) {
	p := remote.(*peer)
	m.peers = slices.DeleteFunc(m.peers, func(known *peer) bool { return known == p })
	m.node.events.Store(true) // a Poll whose handler runs now may pass over the next one
	m.abort(p, bmi.ErrDropped)
}

// Check implements bmi.Checker.
func (m *method) Check(remote bmi.Peer) error {
	p, n := remote.(*peer), m.opts.Network
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.nodes[p.name] == nil {
		return bmi.PeerError(bmi.ErrUnreachable, p.String(), nil)
	}
	return nil
}

// InRange implements bmi.Ranger: the name, with the wildcards of path.Match.
func (m *method) InRange(remote bmi.Peer, pattern string) (bool, error) {
	in, err := path.Match(pattern, remote.String())
	if err != nil {
		return false, fmt.Errorf("%w: pattern %q: %w", bmi.ErrInvalid, pattern, err)
	}
	return in, nil
}

// Alloc implements bmi.Allocator.
func (m *method) Alloc(size int) ([]byte, error) {
	mem := make([]byte, size, max(size, 1))
	m.memory[&mem[:1][0]] = size
	return mem, nil
}

// Free implements bmi.Allocator.
func (m *method) Free(mem []byte) error {
	if cap(mem) > 0 {
		if _, ours := m.memory[&mem[:1][0]]; ours {
			delete(m.memory, &mem[:1][0])
			return nil
		}
	}
	return fmt.Errorf("%w: this memory is not from Alloc, or was freed before", bmi.ErrInvalid)
}

// Stats implements bmi.Statser.
func (m *method) Stats(peers []bmi.PeerStats) (bmi.MethodStats, []bmi.PeerStats) {
	s := m.total
	for _, p := range m.peers {
		s.Peers++
		state := "INIT"
		if p.conn != nil {
			state = "READY"
			s.Connected++
		}
		s.PostedRecvs += len(p.recvs)
		s.EarlyMessages += len(p.early)
		peers = append(peers, bmi.PeerStats{Method: Name, Addr: p.String(), State: state, Traffic: p.stats, Refs: len(p.lent) + len(p.recvs)})
	}
	return s, peers
}

package main

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// peer is a remote endpoint. Each side sends over the connection that it made, and receives over
// the one that the other made.
type peer struct {
	name    string
	addr    bmi.Addr
	out, in int       // sockets; -1: none
	sends   []*bmi.Op // wait for room in out
	recvs   []*bmi.Op // wait for their message
	early   []message // wait for their receive
	kept    int       // bytes in early
	held    *message  // not accepted by the endpoint
}

// message is a message that arrived and has no receive yet.
type message struct {
	class bmi.Class
	tag   bmi.Tag
	data  []byte
}

// String implements bmi.Peer.
func (p *peer) String() string { return scheme + "://" + p.name }

// Resolve implements bmi.Method.
func (m *method) Resolve(address string) (bmi.Addr, error) {
	name, err := nameOf(address)
	if err != nil {
		return bmi.Addr{}, err
	}
	return m.peer(name).addr, nil
}

// peer returns the peer with a name, and makes it if there is none.
func (m *method) peer(name string) *peer {
	p := m.peers[name]
	if p == nil {
		p = &peer{name: name, out: -1, in: -1}
		p.addr = m.host.NewAddr(p)
		m.peers[name] = p
	}
	return p
}

// PostSend implements bmi.Method. A send is done when the kernel has its message, usually at once.
func (m *method) PostSend(op *bmi.Op) {
	p := op.Peer.(*peer)
	p.sends = append(p.sends, op)
	m.flush(p)
}

// flush sends the messages that wait for a peer, as far as there is room.
func (m *method) flush(p *peer) (did bool) {
	for len(p.sends) > 0 {
		err := m.connect(p)
		if err == nil {
			op := p.sends[0]
			m.parts = append(append(m.parts[:0], header(op)), op.Bufs...)
			err = write(p.out, m.parts)
			clear(m.parts)
		}
		if errors.Is(err, unix.EAGAIN) {
			m.changed()
			return did
		}
		did = true
		if err != nil {
			m.lost(p, err)
			return did
		}
		op := p.sends[0]
		p.sends = slices.Delete(p.sends, 0, 1)
		op.Complete(op.Size, nil)
	}
	return did
}

// connect makes the connection to send over, if there is none, and sends this side's name.
func (m *method) connect(p *peer) error {
	if p.out >= 0 {
		return nil
	}
	fd, err := dial(p.name)
	if errors.Is(err, unix.EAGAIN) {
		m.retryAt = m.clock() + retryAfter
	}
	if err != nil {
		return err
	}
	p.out = fd
	m.changed()
	return write(fd, [][]byte{[]byte(m.name)})
}

// lost ends the sends to a peer after its connection failed.
func (m *method) lost(p *peer, err error) {
	if p.out >= 0 {
		err = fmt.Errorf("%w: %s: %w", bmi.ErrPeerFailed, p, err)
		hangUp(&p.out)
	}
	complete(&p.sends, err)
}

// end ends everything with a peer.
func (m *method) end(p *peer, err error) {
	hangUp(&p.in)
	hangUp(&p.out)
	p.early, p.kept, p.held = nil, 0, nil
	complete(&p.sends, err)
	complete(&p.recvs, err)
}

// complete ends operations. It empties the list before it completes the first of them.
func complete(ops *[]*bmi.Op, err error) {
	all := *ops
	*ops = nil
	for _, op := range all {
		op.Complete(0, err)
	}
}

// PostRecv implements bmi.Method.
func (m *method) PostRecv(op *bmi.Op) {
	p := op.Peer.(*peer)
	i := slices.IndexFunc(p.early, func(e message) bool { return e.tag == op.Tag })
	if i < 0 {
		p.recvs = append(p.recvs, op)
		return
	}
	data := p.early[i].data
	p.early = slices.Delete(p.early, i, i+1)
	p.kept -= len(data)
	m.changed() // there is room for more
	receive(op, data)
}

// receive completes a receive with its message.
func receive(op *bmi.Op, data []byte) {
	size := len(data)
	if size > op.Size {
		op.Complete(size, bmi.ErrTruncated)
		return
	}
	for _, b := range op.Bufs {
		data = data[copy(b, data):]
	}
	op.Complete(size, nil)
}

// Cancel implements bmi.Method. A waiting operation is in one of the lists; any other is over.
func (m *method) Cancel(op *bmi.Op) {
	p := op.Peer.(*peer)
	for _, list := range []*[]*bmi.Op{&p.sends, &p.recvs} {
		if i := slices.Index(*list, op); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
			op.Complete(0, bmi.ErrCancelled)
			return
		}
	}
}

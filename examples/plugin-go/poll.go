package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Limits of kept messages and connections.
const (
	earlyMax      = 4096    // messages of a peer without a receive
	earlyBytesMax = 8 << 20 // bytes of these
	freshMax      = 64      // connections without a peer; a new one replaces the oldest
	packetsMax    = 64      // of a peer, in one Poll
)

// caller is a connection from another endpoint that has no peer yet.
type caller struct {
	fd   int
	name string // "" until the name has arrived
}

// Poll implements bmi.Method. One system call tells whether there is anything to do.
func (m *method) Poll() (did bool) {
	m.fds = m.watch(m.fds[:0])
	n, _ := unix.Poll(m.fds[1:], 0) // the calls below find out what an error means
	if n == 0 && !m.held && m.retryAt == 0 {
		return false
	}
	m.held, m.retryAt = false, 0
	did = m.accept()
	for _, p := range m.peers {
		did = m.serve(p) || did
		m.held = m.held || p.held != nil
	}
	if did = m.greet() || did; did {
		m.changed()
	}
	return did
}

// accept accepts connections.
func (m *method) accept() (did bool) {
	for {
		fd, _, err := unix.Accept4(m.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return did
		}
		if !sameUser(fd) {
			m.log.Warn("a connection of another user is refused")
			_ = unix.Close(fd)
			continue
		}
		if len(m.fresh) == freshMax {
			_ = unix.Close(m.fresh[0].fd)
			m.fresh = slices.Delete(m.fresh, 0, 1)
		}
		m.fresh = append(m.fresh, &caller{fd: fd})
		did = true
	}
}

// greet reads the names of new connections. If the peer's former connection has not been read to
// its end, the new one waits for that.
func (m *method) greet() (did bool) {
	m.fresh = slices.DeleteFunc(m.fresh, func(c *caller) bool {
		if c.name == "" {
			n, err := unix.Read(c.fd, m.buf)
			if errors.Is(err, unix.EAGAIN) {
				return false
			}
			c.name = string(m.buf[:max(n, 0)])
			if _, err := nameOf(scheme + "://" + c.name); err != nil {
				_ = unix.Close(c.fd)
				return true
			}
		}
		p := m.peer(c.name)
		if p.in >= 0 {
			return false
		}
		p.in, did = c.fd, true
		return true
	})
	return did
}

// serve does the work that there is for a peer.
func (m *method) serve(p *peer) (did bool) {
	if h := p.held; h != nil {
		p.held = nil
		if !m.offer(p, *h) {
			return false
		}
		did = true
	}
	for range packetsMax {
		if p.in < 0 || !p.room() {
			break
		}
		n, err := unix.Read(p.in, m.buf)
		if errors.Is(err, unix.EAGAIN) {
			break
		}
		did = true
		if err == nil && n > 0 {
			err = m.take(p, m.buf[:n])
		}
		if err != nil || n == 0 {
			hangUp(&p.in)
			complete(&p.recvs, fmt.Errorf("%w: %s: it closed the connection", bmi.ErrPeerFailed, p))
		}
	}
	if p.out >= 0 {
		if _, err := unix.Read(p.out, m.buf[:1]); !errors.Is(err, unix.EAGAIN) {
			m.lost(p, errors.New("it closed the connection"))
			if p.in < 0 {
				complete(&p.recvs, fmt.Errorf("%w: %s: it closed the connection", bmi.ErrPeerFailed, p))
			}
			did = true
		}
	}
	return m.flush(p) || did
}

// room tells whether another message of the peer could be kept, if there is no receive for it.
func (p *peer) room() bool {
	return p.held == nil && len(p.early) < earlyMax && p.kept < earlyBytesMax
}

// take handles one packet.
func (m *method) take(p *peer, packet []byte) error {
	if len(packet) < headerBytes {
		return bmi.ErrProtocol
	}
	kind, data := bmi.Kind(packet[0]), packet[headerBytes:]
	msg := message{bmi.Class(packet[1]), bmi.Tag(binary.LittleEndian.Uint32(packet[4:])), data}
	switch {
	case kind == bmi.KindSendUnexpected && len(data) <= unexpectedMax:
		m.offer(p, msg)
		return nil
	case kind != bmi.KindSend || len(data) > expectedMax:
		m.log.Warn("a peer broke the protocol", "peer", p)
		return bmi.ErrProtocol
	}
	i := slices.IndexFunc(p.recvs, func(op *bmi.Op) bool { return op.Tag == msg.tag })
	if i < 0 {
		msg.data = slices.Clone(data)
		p.early = append(p.early, msg)
		p.kept += len(data)
		return nil
	}
	op := p.recvs[i]
	p.recvs = slices.Delete(p.recvs, i, i+1)
	receive(op, data)
	return nil
}

// offer passes an unexpected message to the endpoint. If the endpoint does not accept it, it is
// kept, and nothing is read from that peer until the endpoint does.
func (m *method) offer(p *peer, msg message) bool {
	if m.host.Arrived(p.addr, msg.class, msg.tag, msg.data) {
		return true
	}
	msg.data = slices.Clone(msg.data)
	p.held, m.held = &msg, true
	return false
}

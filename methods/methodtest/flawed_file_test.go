package methodtest_test

import (
	"errors"
	"fmt"
	"io"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// PostSendFile implements bmi.FileSender.
func (m *flawedMethod) PostSendFile(op *bmi.Op) {
	data, part := make([]byte, op.Size), op.File
	if m.net.flaw == misreadsFiles {
		part.Off--
	}
	n, err := part.File.ReadAt(data, part.Off)
	switch short := errors.Is(err, io.EOF); {
	case err != nil && !short && m.net.flaw != hidesReadErrors, short && m.net.flaw == failsAtFileEnds:
		m.breakOff(op.Peer.(*flawedPeer))
		op.Complete(0, fmt.Errorf("%w: the file cannot be read: %w", bmi.ErrPeerFailed, err))
		return
	}
	clear(data[n:])
	if part.Check != nil && m.net.flaw != neverHasFilesChecked {
		if m.net.flaw == checksHalf {
			n /= 2
		}
		if err := part.Check(data[:n], part.Off); err != nil {
			m.breakOff(op.Peer.(*flawedPeer))
			op.Complete(0, fmt.Errorf("%w: %w", bmi.ErrPeerFailed, err))
			return
		}
	}
	m.post(op, data)
}

// makeUp reads the bytes of a send again when the message arrives, and fills in those that the
// file no longer has.
func (m *flawedMethod) makeUp(p *flawedPacket) {
	if m.net.flaw != makesFilesUp || p.op == nil || p.op.File.File == nil {
		return
	}
	n, _ := p.op.File.File.ReadAt(p.data, p.op.File.Off)
	for i := range p.data[n:] {
		p.data[n+i] = 'x'
	}
}

// breakOff ends all operations with a peer, as if the connection broke.
func (m *flawedMethod) breakOff(peer *flawedPeer) {
	m.fail(peer, bmi.ErrPeerFailed, false)
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	if to := m.net.nodeLocked(peer.name); to != nil {
		m.net.deliverLocked(to, &flawedPacket{from: m.net.seenFrom(m.node.name, peer.name), leave: true})
	}
}

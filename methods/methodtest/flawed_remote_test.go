package methodtest_test

import (
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// flawedAccess is how many bytes one access moves.
const flawedAccess = 64 << 10

// A flawedExposure is memory that a node has exposed.
type flawedExposure struct {
	net   *flawedNet
	owner *flawedNode
	peer  *flawedPeer // of the owner
	mem   []byte
	key   bmi.RemoteKey
	ended bool // the connection has
}

func (x *flawedExposure) Key() bmi.RemoteKey { return x.key }

func (x *flawedExposure) Withdraw() {
	if x.net.flaw == neverWithdraws {
		return
	}
	x.net.mu.Lock()
	defer x.net.mu.Unlock()
	delete(x.net.exposed, x.key)
}

// Expose implements bmi.RemoteAccessor.
func (m *flawedMethod) Expose(to bmi.Peer, mem []byte) (bmi.Exposure, error) {
	peer := to.(*flawedPeer)
	if !peer.talked {
		return nil, bmi.ErrNotSupported
	}
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	x := &flawedExposure{net: m.net, owner: m.node, peer: peer, mem: mem}
	m.net.exposures++
	for at := 0; at < len(x.key); at += 8 { // all of it counts
		binary.LittleEndian.PutUint64(x.key[at:], uint64(m.net.exposures))
	}
	m.net.exposed[x.key] = x
	return x, nil
}

// Access implements bmi.RemoteAccessor.
func (m *flawedMethod) Access(to bmi.Peer, key bmi.RemoteKey, off uint64, mem []byte, write bool) error {
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	x, flaw, owner := m.net.exposed[key], m.net.flaw, to.(*flawedPeer).name
	switch {
	case x == nil, x.ended && flaw != keysOutliveConnections:
		return bmi.ErrNotSupported
	case flaw != keysForEverybody && (x.owner != m.net.nodeLocked(owner) || x.peer.name != m.net.seenFrom(m.node.name, owner)):
		return bmi.ErrNotSupported
	case off > uint64(len(x.mem)) || uint64(len(mem)) > uint64(len(x.mem))-off:
		if flaw == ignoresBounds {
			return nil
		}
		return bmi.ErrNotSupported
	}
	there := x.mem[off:][:len(mem)]
	if flaw == leavesTheLastByte {
		there = there[:len(mem)-1]
	}
	if write {
		copy(there, mem)
	} else {
		copy(mem, there)
	}
	return nil
}

// AccessBytes implements bmi.RemoteAccessor.
func (m *flawedMethod) AccessBytes() int { return flawedAccess }

// endExposures makes the keys of a connection useless.
func (m *flawedMethod) endExposures(peer *flawedPeer) {
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	for _, x := range m.net.exposed {
		if x.owner == m.node && x.peer == peer {
			x.ended = true
		}
	}
}

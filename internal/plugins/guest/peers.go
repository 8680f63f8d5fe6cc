package guest

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// strangerBit marks ids of peers that the plugin met first; the program gives the others.
const strangerBit = 1 << 63

// peers holds the remote endpoints by the ids that the program and the plugin gave them. Messages
// from an endpoint carry the id that was given first.
type peers struct {
	byID   map[uint64]*known
	ids    map[bmi.Peer]uint64 // each is in byID
	latest uint64              // the latest id that this side gave
	held   map[uint64]bool
}

// known is a remote endpoint with an id, or the reason why an address is invalid.
type known struct {
	peer bmi.Peer
	err  error
}

func (p *peers) init() {
	p.byID, p.ids, p.held = make(map[uint64]*known), make(map[bmi.Peer]uint64), make(map[uint64]bool)
	p.latest = strangerBit
}

// find returns the peer of an id, or the reason why there is none.
func (p *peers) find(id uint64) (bmi.Peer, error) {
	k := p.byID[id]
	if k == nil {
		return nil, fmt.Errorf("%w: no peer has the id %d", bmi.ErrInvalid, id)
	}
	return k.peer, k.err
}

// hold records whether the program accepts messages of a peer.
func (p *peers) hold(id uint64, held bool) {
	switch {
	case !held:
		delete(p.held, id)
	case p.byID[id] != nil: // else it was dropped meanwhile
		p.held[id] = true
	}
}

// meet records the program's id for the remote endpoint of an address. It is the endpoint's second
// id if the plugin gave it one at the same time.
func (e *Engine) meet(h *wire.Head, text []byte) error {
	id := h.Peer
	switch {
	case id == 0 || id&strangerBit != 0:
		return fmt.Errorf("%w: the id %#x is not for the program to give", wire.ErrInvalid, id)
	case h.Flags != wire.FlagText || len(text) > wire.AddressMax:
		return fmt.Errorf("%w: an address of %d bytes, with flags %#x", wire.ErrInvalid, len(text), uint8(h.Flags))
	case len(e.peers.byID) >= PeersMax:
		return fmt.Errorf("%d peers at once", PeersMax)
	case e.peers.byID[id] != nil:
		return fmt.Errorf("%w: the id %d is taken", wire.ErrInvalid, id)
	}
	a, err := e.method.Resolve(string(text))
	if err != nil {
		e.peers.byID[id] = &known{err: err}
		return nil
	}
	peer := bmi.HostPeer(a)
	if first, ok := e.peers.ids[peer]; ok {
		e.peers.byID[id] = e.peers.byID[first]
		return nil
	}
	e.peers.byID[id], e.peers.ids[peer] = &known{peer: peer}, id
	return nil
}

// introduce returns the id of a peer that sent a message. If the program does not know the peer,
// introduce writes it a record; ok is false if there is no room for the record.
func (e *Engine) introduce(a bmi.Addr) (id uint64, ok bool) {
	peer := bmi.HostPeer(a)
	if id, ok = e.peers.ids[peer]; ok {
		return id, true
	}
	if len(e.peers.byID) >= PeersMax {
		return 0, false
	}
	id = e.peers.latest + 1
	if !e.writeRecord(&wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: id}, nil, a.String()) {
		return 0, false
	}
	e.peers.latest = id
	e.peers.byID[id], e.peers.ids[peer] = &known{peer: peer}, id
	return id, true
}

// drop makes the method drop a peer, if it supports that, and removes its id. A peer with two ids
// is dropped by either of them, and only once.
func (e *Engine) drop(id uint64) error {
	k := e.peers.byID[id]
	if k == nil {
		return fmt.Errorf("%w: drop of the unknown id %d", wire.ErrInvalid, id)
	}
	delete(e.peers.byID, id)
	delete(e.peers.held, id)
	peer := k.peer
	if peer == nil {
		return nil
	}
	k.peer, k.err = nil, bmi.ErrDropped
	delete(e.peers.ids, peer)
	if e.dropper != nil {
		e.dropper.Drop(peer)
	}
	return nil
}

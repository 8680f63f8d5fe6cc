package host

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// strangersMax limits the remote endpoints that a plugin may introduce: twice the number that either
// side may know, because the sides learn of changes at different times.
const strangersMax = 2 * PeersMax

// strangerBit marks ids that the plugin gives, to peers that it meets first.
const strangerBit = 1 << 63

// A peer is a remote endpoint. It outlives the plugin.
type peer struct {
	id      uint64 // known to the plugin; 0 means none yet
	alias   uint64 // a second id from the plugin; 0 means none
	text    string
	addr    bmi.Addr
	dropped bool
	// replaced: its text belongs to another peer now, so no other plugin could find it.
	replaced bool
	kept     []arrival // messages that the endpoint did not accept
	heldAs   uint64    // the id under which the plugin holds it back; 0: it does not
}

// String implements bmi.Peer.
func (p *peer) String() string { return p.text }

// peers holds the remote endpoints.
type peers struct {
	byText   map[string]*peer
	byID     map[uint64]*peer
	latest   uint64 // id given by this side
	stranger uint64 // latest id given by the plugin
}

func (t *peers) init() {
	t.byText, t.byID = make(map[string]*peer), make(map[uint64]*peer)
	t.stranger = strangerBit
}

// find returns the peer of an id. It returns nil without an error if the peer was dropped.
func (t *peers) find(id uint64) (*peer, error) {
	if p := t.byID[id]; p != nil {
		return p, nil
	}
	latest := t.latest
	if id&strangerBit != 0 {
		latest = t.stranger
	}
	if id > latest || id&^uint64(strangerBit) == 0 {
		return nil, fmt.Errorf("%w: no peer has the id %#x", wire.ErrInvalid, id)
	}
	return nil, nil
}

// forget removes all ids, because the plugin that knew them is gone.
func (t *peers) forget() {
	for _, p := range t.byID {
		p.id, p.alias, p.heldAs = 0, 0, 0
		p.dropped = p.dropped || p.replaced
	}
	clear(t.byID)
	t.latest, t.stranger = 0, strangerBit
}

// Resolve implements bmi.Method.
func (m *Method) Resolve(address string) (bmi.Addr, error) {
	text, err := m.cfg.Resolve(address)
	if err != nil {
		return bmi.Addr{}, err
	}
	if err := checkText(text); err != nil {
		return bmi.Addr{}, fmt.Errorf("plugin %s: %w: it calls %q %w", m.cfg.Name, bmi.ErrBadAddress, address, err)
	}
	if m.peers.byText[text] == nil && len(m.peers.byText) >= PeersMax {
		return bmi.Addr{}, fmt.Errorf("plugin %s: %w: %d peers at once", m.cfg.Name, bmi.ErrAgain, PeersMax)
	}
	return m.peer(text).addr, nil
}

// checkText checks an address that the plugin sent. It is shown to users.
func checkText(text string) error {
	if text == "" || len(text) > AddressMax || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return fmt.Errorf("%w: the address %.64q, of %d bytes", wire.ErrInvalid, text, len(text))
	}
	return nil
}

// peer returns the peer of an address, and makes it if there is none.
func (m *Method) peer(text string) *peer {
	if p := m.peers.byText[text]; p != nil {
		return p
	}
	p := &peer{text: text}
	p.addr = m.cfg.Host.NewAddr(p)
	m.peers.byText[text] = p
	return p
}

// introduce gives the plugin an id for a peer that has none. It returns false if there is no room
// to write that.
func (m *Method) introduce(p *peer) bool {
	if p.id != 0 {
		return true
	}
	id, text := m.peers.latest+1, p.text
	if m.cfg.ToPlugin != nil {
		text = m.cfg.ToPlugin(text)
	}
	if !m.write(&wire.Head{Kind: wire.KindPeer, Flags: wire.FlagText, Peer: id}, [][]byte{[]byte(text)}) {
		return false
	}
	m.peers.latest, p.id = id, id
	m.peers.byID[id] = p
	return true
}

// meet records an id that the plugin gave to a peer. If this side gave it one at the same time, the
// peer has two.
func (m *Method) meet(id uint64, text string) error {
	if id != m.peers.stranger+1 {
		return fmt.Errorf("%w: a stranger %.64q with the id %#x, want %#x", wire.ErrInvalid, text, id, m.peers.stranger+1)
	}
	if err := checkText(text); err != nil {
		return err
	}
	if max(len(m.peers.byText), len(m.peers.byID)) >= strangersMax {
		return fmt.Errorf("%w: %d peers at once", wire.ErrInvalid, strangersMax)
	}
	m.peers.stranger = id
	if m.cfg.FromPlugin != nil {
		text = m.cfg.FromPlugin(text)
	}
	p := m.peer(text)
	switch {
	case p.id == 0:
		p.id = id
	case p.alias == 0 && p.id&strangerBit == 0:
		p.alias = id
	default:
		// For example, another process has its port now. The earlier bmi.Addr keeps the old peer.
		p.replaced = true
		delete(m.peers.byText, text)
		p = m.peer(text)
		p.id = id
	}
	m.peers.byID[id] = p
	return nil
}

// Drop implements bmi.Dropper.
func (m *Method) Drop(remote bmi.Peer) {
	p, ok := remote.(*peer)
	if !ok || p.dropped {
		return
	}
	p.dropped = true
	wasFull := m.kept >= keptMax
	for _, a := range p.kept {
		m.kept -= keptBytes + len(a.data)
	}
	p.kept = nil
	if wasFull && m.kept < keptMax {
		m.cfg.Host.Wake() // the endpoint sleeps without having armed the plugin's bell
	}
	if m.peers.byText[p.text] == p {
		delete(m.peers.byText, p.text)
	}
	m.eachWaiting(func(o *op) {
		if o.peer == p {
			m.giveUp(o, fmt.Errorf("%w: %s", bmi.ErrDropped, p.text))
		}
	})
	for _, id := range []uint64{p.id, p.alias} {
		if id != 0 {
			delete(m.peers.byID, id)
			m.order(wire.Head{Kind: wire.KindDrop, Peer: id})
		}
	}
}

// Check implements bmi.Checker.
func (m *Method) Check(remote bmi.Peer) error {
	if m.cfg.Check == nil {
		return nil
	}
	return m.cfg.Check(remote.String())
}

// InRange implements bmi.Ranger.
func (m *Method) InRange(remote bmi.Peer, pattern string) (bool, error) {
	if m.cfg.InRange == nil {
		return false, fmt.Errorf("%w: %s has no address ranges", bmi.ErrNotSupported, m.cfg.Info.Name)
	}
	return m.cfg.InRange(remote.String(), pattern)
}

package tcp

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/tcp/stack"
	"github.com/viaduct-hpc/viaduct/peer"
)

// remote is the method's record of one remote endpoint, connected or not.
type remote struct {
	// What every message touches comes first.
	c     *conn // the connection, also while it is being made; nil: none
	sends queue.List[sending, *sending]
	// key is what the match bits of an expected message from this endpoint
	// are; only the tag is to be added.
	key     matchbits.Bits
	ops     queue.List[opState, *opState] // everything not completed
	earlies queue.List[early, *early]
	// earlyBytes is the size of their buffers.
	earlyBytes int
	count      traffic

	addr    bmi.Addr
	name    string // the address, with scheme
	targets []target
	dial    *dial // under way; nil: not
	failed  error // how the latest connection, or attempt, ended; nil while there is one

	timer // while gone, and early messages are left

	id         peer.ID // of key
	generation uint32
	passive    bool // it connected to us: there is no connecting to it
	told       bool // the application has its address
	dropped    bool // by DropAddr
	gone       bool // out of the tables, or nothing but early messages is left
}

// String is the address (bmi.Peer).
func (r *remote) String() string { return r.name }

// errorf is an error about this peer.
func (r *remote) errorf(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", kind, r.name, fmt.Errorf(format, args...))
}

// newRemote makes the record of an endpoint. It fails when there are more than
// the match bits can tell apart.
func (m *method) newRemote(targets []target, name string) (*remote, error) {
	r := &remote{targets: targets, name: name}
	id, generation, ok := m.remotes.Take(r)
	if !ok {
		return nil, fmt.Errorf("%w: %d peers are known, drop some", bmi.ErrAgain, m.remotes.Live())
	}
	r.id, r.generation = id, generation
	m.newestID = max(m.newestID, int(id))
	r.key = matchbits.Make(matchbits.TypeExpected, 0, matchbits.PeerID(id), 0)
	r.addr = m.host.NewAddr(r)
	m.byName[name] = r
	return r, nil
}

// Resolve finds or makes the record behind an address.
func (m *method) Resolve(address string) (bmi.Addr, error) {
	targets, err := parseAddress(m.name, address)
	if err != nil {
		return bmi.Addr{}, err
	}
	name := format(m.name, targets)
	if r := m.byName[name]; r != nil {
		r.told = true
		return r.addr, nil
	}
	r, err := m.newRemote(targets, name)
	if err != nil {
		return bmi.Addr{}, err
	}
	return r.addr, nil
}

// remoteOf is the record of whom a connection leads to. One that we accepted gets
// its record with the first message.
func (m *method) remoteOf(c *conn) (*remote, error) {
	if c.r != nil {
		return c.r, nil
	}
	from := c.stream.Remote()
	targets := []target{{Host: from.Addr().String(), IP: from.Addr(), Port: from.Port()}}
	name := format(m.name, targets)
	if old := m.byName[name]; old != nil {
		delete(m.byName, name) // its port is another's now; who holds it keeps it
	}
	r, err := m.newRemote(targets, name)
	if err != nil {
		return nil, err
	}
	r.passive = true
	r.c, c.r = c, r
	r.count.Connects++
	return r, nil
}

// unusable says why nothing can be posted with this peer any more; nil if it can.
func (m *method) unusable(r *remote) error {
	switch {
	case r.dropped:
		return r.errorf(bmi.ErrDropped, "posted after DropAddr")
	case m.closing:
		return r.errorf(bmi.ErrClosed, "the endpoint is being closed")
	case r.gone:
		return r.errorf(bmi.ErrPeerFailed, "it connected from here, its connection ended, and only it can make a new one")
	}
	return nil
}

// failAll completes all operations with a peer.
func (m *method) failAll(r *remote, err error) {
	m.failSends(r, err)
	for s := r.ops.First(); s != nil; s = r.ops.First() {
		m.failRecv(s, err)
	}
}

// failRecv ends a receive, wherever it is. What of its message is still to come is
// thrown away.
func (m *method) failRecv(s *opState, err error) {
	switch s.phase {
	case phasePosted:
		m.match.RemovePosted(s.ref)
	case phaseJoined:
		e := s.early
		e.recv = nil
		e.c.in = inbound{kind: inDiscard}
		m.letGo(e)
	case phaseArriving:
		s.c.in = inbound{kind: inDiscard}
	}
	m.finish(s, 0, err)
}

// retire takes a peer that cannot be reached again out of the tables. Messages of
// its that arrived whole wait on for their receives, but not for ever: anybody can
// connect, send some and go. Nobody can receive from whom nobody knows.
func (m *method) retire(r *remote) {
	r.gone = true
	if m.byName[r.name] == r {
		delete(m.byName, r.name)
	}
	if !r.told {
		m.dropEarlies(r, false)
	}
	if r.earlies.Len() > 0 {
		r.owner = r
		m.set(&r.timer, m.clock()+m.opts.HangupTimeout)
	}
	m.maybeRelease(r)
}

// expired is told that nobody took what a retired peer had sent.
func (r *remote) expired(m *method) { m.dropEarlies(r, false) }

// maybeRelease gives a retired peer's id back once nothing needs it.
func (m *method) maybeRelease(r *remote) {
	if r.gone && r.earlies.Len() == 0 && m.remotes.Give(r.id, r.generation) {
		m.unset(&r.timer)
		m.past.Add(&r.count.Traffic)
	}
}

// Drop forgets a peer (bmi.Dropper).
func (m *method) Drop(p bmi.Peer) {
	r := p.(*remote)
	if r.dropped {
		return
	}
	r.dropped = true
	err := r.errorf(bmi.ErrDropped, "dropped by the caller")
	m.abandonDial(r)
	if r.c != nil {
		m.end(r.c, err)
	}
	m.failAll(r, err)
	m.dropEarlies(r, false)
	m.retire(r)
}

// Check tells whether a peer is believed to be alive (bmi.Checker).
func (m *method) Check(p bmi.Peer) error {
	r := p.(*remote)
	if err := m.unusable(r); err != nil {
		return err
	}
	if r.c != nil && r.c.sendErr != nil {
		return r.c.sendErr
	}
	return r.failed
}

// InRange tells whether a peer lies in a range of addresses (bmi.Ranger).
func (m *method) InRange(p bmi.Peer, pattern string) (bool, error) {
	return inRange(m.name, p.(*remote).targets, pattern)
}

// AuthenticatedName is the name in the certificate of a connected peer (bmi.Authenticator).
func (m *method) AuthenticatedName(p bmi.Peer) string {
	c := p.(*remote).c
	if c == nil {
		return ""
	}
	if s, ok := c.stream.(stack.Named); ok {
		return s.PeerName()
	}
	return ""
}

// connectError puts the reason why a connection could not be made in the terms
// of package bmi.
func (r *remote) connectError(err error) error {
	if errors.Is(err, stack.ErrIdentity) {
		return r.errorf(bmi.ErrRefused, "%w", err)
	}
	return r.errorf(bmi.ErrUnreachable, "%w", err)
}

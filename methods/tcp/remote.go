package tcp

import (
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/inbox"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/peer"
)

// remote is the method's record of one remote endpoint, connected or not.
type remote struct {
	// The fields that every message uses come first.
	c     *conn // the connection, even while it is being made; nil: none
	sends queue.List[outgoing]
	inbox inbox.Peer
	count traffic

	name    string // the address, with scheme
	targets []target
	dial    *dial         // running; nil: none
	since   time.Duration // when the connection, or the attempt to make one, began or ended; 0: there was none
	failed  error         // how the latest connection, or attempt, ended; nil while there is a connection

	timer // while gone, and early messages are left

	id         peer.ID // in method.remotes
	generation uint32
	passive    bool // it connected to us and cannot be connected to
	told       bool // the application has its address
	dropped    bool // by DropAddr
	gone       bool // out of the tables, or only early messages are left
}

// String is the address (bmi.Peer).
func (r *remote) String() string { return r.name }

// errorf returns an error about this peer.
func (r *remote) errorf(kind error, format string, args ...any) error {
	return bmi.PeerError(kind, r.name, fmt.Errorf(format, args...))
}

// newRemote makes the record of an endpoint. It fails when there are more endpoints than
// the match bits can distinguish.
func (m *method) newRemote(targets []target, name string) (*remote, error) {
	r := &remote{targets: targets, name: name}
	id, generation, ok := m.remotes.Take(r)
	if !ok {
		return nil, fmt.Errorf("%w: %d peers are known, drop some", bmi.ErrAgain, m.remotes.Live())
	}
	r.id, r.generation = id, generation
	m.newestID = max(m.newestID, int(id))
	r.inbox.Init(id, m.host.NewAddr(r), &r.count.Traffic)
	m.byName[name] = r
	return r, nil
}

// Resolve finds or makes the record of an address.
func (m *method) Resolve(address string) (bmi.Addr, error) {
	targets, err := parseAddress(m.name, address)
	if err != nil {
		return bmi.Addr{}, err
	}
	name := format(m.name, targets)
	if r := m.byName[name]; r != nil {
		r.told = true
		return r.inbox.Addr(), nil
	}
	r, err := m.newRemote(targets, name)
	if err != nil {
		return bmi.Addr{}, err
	}
	return r.inbox.Addr(), nil
}

// remoteOf returns the peer at the other end of a connection. An accepted connection gets
// its record with the first message.
func (m *method) remoteOf(c *conn) (*remote, error) {
	if c.r != nil {
		return c.r, nil
	}
	from := c.stream.Remote()
	targets := []target{{Host: from.Addr().String(), IP: from.Addr(), Port: from.Port()}}
	name := format(m.name, targets)
	if old := m.byName[name]; old != nil {
		delete(m.byName, name) // another process has its port now; holders of the old record keep it
	}
	r, err := m.newRemote(targets, name)
	if err != nil {
		return nil, err
	}
	r.passive = true
	r.c, c.r, r.since = c, r, m.clock()
	r.count.Connects++
	bmi.Report(m.host, bmi.Connected, r.name)
	return r, nil
}

// unusable says why nothing can be posted with this peer; nil if it can.
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
	m.inbox.Fail(&r.inbox, err)
}

// waits reports whether operations wait for the peer.
func (r *remote) waits() bool { return r.sends.Len() > 0 || r.inbox.HasRecvs() }

// retire removes a peer that cannot be reached again from the tables. Its complete messages
// continue to wait for their receives, but not for ever, because any host can connect, send
// messages and leave. If the application never got the peer's address, no receive can be
// posted, and the messages are discarded at once.
func (m *method) retire(r *remote) {
	r.gone = true
	if m.byName[r.name] == r {
		delete(m.byName, r.name)
	}
	if !r.told {
		m.dropEarly(r)
	}
	if r.inbox.Early() > 0 {
		r.owner = r
		m.timers.Set(&r.timer, m.clock()+m.opts.HangupTimeout)
	}
	m.maybeRelease(r)
}

// expired discards messages that a retired peer had sent and that were not received in
// time.
func (r *remote) expired(m *method) { m.dropEarly(r) }

// maybeRelease gives back a retired peer's id once it is not needed any more.
func (m *method) maybeRelease(r *remote) {
	if r.gone && r.inbox.Early() == 0 && m.remotes.Give(r.id, r.generation) {
		m.timers.Stop(&r.timer)
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
	m.dropEarly(r)
	m.retire(r)
}

// Check reports whether a peer is believed to be alive (bmi.Checker).
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

// InRange reports whether a peer lies in a range of addresses (bmi.Ranger).
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

// connectError translates the reason why a connection could not be made into an error of
// package bmi.
func (r *remote) connectError(err error) error {
	if errors.Is(err, stack.ErrIdentity) {
		return r.errorf(bmi.ErrRefused, "%w", err)
	}
	return r.errorf(bmi.ErrUnreachable, "%w", err)
}

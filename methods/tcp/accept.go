package tcp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/names"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// listener is an address on which the method accepts connections.
type listener struct {
	stack.Listener
	timer      // while it pauses
	more  bool // in method.accepting
}

// listen opens the addresses of one entry of bmi.Config.Listen.
func (m *method) listen(ctx context.Context, address string) error {
	t, err := parseTarget(m.name, address)
	if err != nil {
		return err
	}
	switch {
	case t.IP.IsValid():
		err = m.listenAt(netip.AddrPortFrom(t.IP, t.Port))
	case t.Host == "":
		err = m.listenAt(netip.AddrPortFrom(netip.IPv6Unspecified(), t.Port))
		if err != nil && !errors.Is(err, stack.ErrInUse) { // a machine without IPv6
			err = m.listenAt(netip.AddrPortFrom(netip.IPv4Unspecified(), t.Port))
		}
	default:
		addrs, lookup := names.Find(ctx, t)
		if lookup != nil {
			return fmt.Errorf("%w: %q: %w", bmi.ErrBadAddress, address, lookup)
		}
		err = m.listenAtAny(address, addrs)
	}
	switch {
	case errors.Is(err, stack.ErrInUse):
		return bmi.TakenError(address, err)
	case err != nil:
		return fmt.Errorf("tcp: cannot listen at %s: %w", address, err)
	}
	return nil
}

// listenAtAny opens the addresses of a name. One is enough: on a machine without IPv6, localhost may still resolve to an IPv6
// address.
func (m *method) listenAtAny(name string, addrs []netip.AddrPort) error {
	var refused error
	open := 0
	for _, at := range addrs {
		err := m.listenAt(at)
		switch {
		case err == nil:
			open++
		case errors.Is(err, stack.ErrInUse):
			return err
		default:
			refused = errors.Join(refused, err)
		}
	}
	if open > 0 && refused != nil {
		m.warn("not listening at every address of a name", "name", name, "cause", refused)
		return nil
	}
	return refused
}

// listenAt opens one address.
func (m *method) listenAt(at netip.AddrPort) error {
	i, token := m.token()
	l, err := m.stack.Listen(at, token)
	if err != nil {
		m.freeSlot(i)
		return err
	}
	ln := &listener{Listener: l}
	ln.owner = ln
	m.slots[i].l = ln
	m.listeners = append(m.listeners, ln)
	m.markAccepting(ln)
	return nil
}

// markAccepting records that connections may be waiting.
func (m *method) markAccepting(ln *listener) {
	if !ln.more && !ln.place.IsSet() {
		ln.more = true
		m.accepting = append(m.accepting, ln)
	}
}

// expired ends a listener's pause.
func (ln *listener) expired(m *method) { m.markAccepting(ln) }

// acceptAll accepts waiting connections, at most acceptsPerPoll from each listener.
func (m *method) acceptAll() {
	all := m.accepting
	m.accepting = m.acceptingNext[:0]
	for _, ln := range all {
		ln.more = false
		if m.acceptFrom(ln) {
			m.markAccepting(ln)
		}
	}
	clear(all)
	m.acceptingNext = all[:0]
}

// acceptFrom accepts connections from one listener. It reports whether more may be waiting.
func (m *method) acceptFrom(ln *listener) bool {
	for range acceptsPerPoll {
		i, token := m.token()
		s, err := ln.Accept(token)
		if err != nil {
			m.freeSlot(i)
			if errors.Is(err, stack.ErrAgain) {
				return false
			}
			// No event will report that there is room again.
			m.errors.TurnedAway++
			m.warn("no room for another connection, some wait", "at", ln.Addr().String(), "cause", err)
			m.timers.Set(&ln.timer, m.clock()+acceptPause)
			return false
		}
		if m.shares.all >= m.opts.Connections && !m.makeRoom(s.Remote()) {
			s.Close()
			m.freeSlot(i)
			continue
		}
		c := m.newConn(s, i)
		m.shares.add(c)
		m.timers.Set(&c.timer, m.clock()+m.opts.ConnectTimeout)
		m.opening(c)
	}
	return true
}

// makeRoom closes a connection of a host that has more of them than the connecting host. If there is none it reports false.
func (m *method) makeRoom(from netip.AddrPort) bool {
	c := m.shares.leastFor(from.Addr())
	if c == nil {
		m.errors.TurnedAway++
		m.warn("connection turned away: there are as many as Options.Connections allows",
			"peer", from.String(), "connections", m.shares.all)
		return false
	}
	m.errors.Displaced++
	m.warn("connection closed: there are as many as Options.Connections allows, and others have fewer",
		"peer", c.stream.Remote().String(), "connections", m.shares.all)
	m.endAs(c, bmi.ErrPeerFailed, errors.New("its host had more connections than other hosts, and they needed room"))
	return true
}

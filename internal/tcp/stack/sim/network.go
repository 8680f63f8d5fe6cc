package simstack

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// Reasons why a stream is broken, in the kernel's words.
var (
	errReset   = fmt.Errorf("sim: %w", syscall.ECONNRESET)
	errTimeout = fmt.Errorf("sim: %w", syscall.ETIMEDOUT)
	errPipe    = fmt.Errorf("sim: %w", syscall.EPIPE)
	errClosed  = errors.New("sim: closed")
	errCrashed = errors.New("sim: the host crashed")
)

// A Network joins hosts.
type Network struct {
	sim   *sim.World
	opts  Options
	hosts map[netip.Addr]*Host
	order []*Host // the same, in order of creation: iterating over a map would not be deterministic
}

// New makes a network without hosts over w.
func New(w *sim.World, opts Options) *Network {
	opts.setDefaults()
	return &Network{sim: w, opts: opts, hosts: make(map[netip.Addr]*Host)}
}

// Host is the machine at an address, made on first use.
func (n *Network) Host(addr netip.Addr) *Host {
	addr = addr.Unmap()
	h := n.hosts[addr]
	if h == nil {
		h = &Host{n: n, addr: addr, name: addr.String(), up: true, ports: firstPort}
		n.hosts[addr] = h
		n.order = append(n.order, h)
	}
	return h
}

// Clock is virtual time.
func (n *Network) Clock() time.Duration { return n.sim.Now() }

// Idle advances to the next event, or virtual time by timeout if there is none (<
// 0: no limit). Waiting calls use it. A wait that nothing can end panics, because
// in a test it would hang.
func (n *Network) Idle(timeout time.Duration) {
	next, ok := n.sim.Next()
	switch {
	case ok && (timeout < 0 || next <= n.sim.Now()+timeout):
		n.sim.Step()
	case timeout >= 0:
		n.sim.RunFor(timeout)
	default:
		panic(fmt.Sprintf("sim: %v: waiting for ever at %v (seed %d)", sim.ErrNotLive, n.sim.Now(), n.sim.Seed()))
	}
}

// Cut partitions two hosts. Streams between them break if that lasts for
// Options.KeepAlive; each side notices on its own.
func (n *Network) Cut(a, b netip.Addr) {
	x, y := n.Host(a), n.Host(b)
	n.trace("cut %s %s", x.name, y.name)
	n.sim.Cut(x.name, y.name)
	for _, s := range n.between(x, y) {
		s.watch()
	}
}

// Heal undoes a Cut.
func (n *Network) Heal(a, b netip.Addr) {
	n.trace("heal %s %s", a, b)
	n.sim.Heal(n.Host(a).name, n.Host(b).name)
}

// Reset breaks the streams between two hosts, like a firewall that lost its
// state: both sides are reset, each in its own time.
func (n *Network) Reset(a, b netip.Addr) {
	n.trace("reset %s %s", a, b)
	for _, s := range n.between(n.Host(a), n.Host(b)) {
		n.resetSoon(s)
	}
}

func (n *Network) resetSoon(s *Stream) {
	n.sim.After(n.link(s.peer.host, s.host).Delay(), func() { s.broke(errReset) })
}

// Streams is the number of streams between two hosts, each end counted.
func (n *Network) Streams(a, b netip.Addr) int { return len(n.between(n.Host(a), n.Host(b))) }

// between lists the ends of the streams between two hosts that are still alive.
func (n *Network) between(a, b *Host) (list []*Stream) {
	for _, s := range a.streams {
		if s.peer != nil && s.peer.host == b {
			list = append(list, s)
		}
	}
	if a == b {
		return list
	}
	for _, s := range b.streams {
		if s.peer != nil && s.peer.host == a {
			list = append(list, s)
		}
	}
	return list
}

func (n *Network) link(from, to *Host) *sim.Link { return n.sim.Link(from.name, to.name) }

// reaches reports whether a segment from one host arrives at another now.
func (n *Network) reaches(from, to *Host) bool { return to.up && n.link(from, to).Up() }

// delay draws the travel time of a segment, including the time for losses.
func (n *Network) delay(from, to *Host) time.Duration {
	link := n.link(from, to)
	d := link.Delay()
	for n.sim.Chance(min(link.Options().Loss, 0.9)) {
		d += n.opts.RetransmitAfter
	}
	return d
}

// backoff is the pause before the next attempt.
func (n *Network) backoff(attempt int) time.Duration {
	return n.opts.RetransmitAfter << min(attempt, 10)
}

// soon draws a time up to most.
func (n *Network) soon(most time.Duration) time.Duration { return n.sim.Between(0, most) }

func (n *Network) trace(format string, args ...any) {
	if n.opts.Trace != nil {
		n.opts.Trace(fmt.Sprintf("%v ", n.sim.Now()) + fmt.Sprintf(format, args...))
	}
}

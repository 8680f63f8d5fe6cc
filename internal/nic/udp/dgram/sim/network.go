package simdgram

import (
	"bytes"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// A Network joins hosts.
type Network struct {
	mu       sync.Mutex
	sim      *sim.World
	opts     Options
	start    time.Time // of the wall clock, in the Real mode
	at       map[netip.Addr]*Host
	paths    map[[2]*Host]*path
	filter   func(Datagram) bool
	stats    Stats
	sleeping []*Device // in the Real mode
}

// A Datagram is one datagram under way.
type Datagram struct {
	From, To netip.AddrPort
	Payload  []byte
}

// Stats counts what happened to datagrams on their way. It does not include what links lose
// and duplicate.
type Stats struct {
	Sent       uint64 // left a socket
	Dropped    uint64 // found no room at a bottleneck
	Vanished   uint64 // larger than the path's MTU
	Filtered   uint64 // removed by the filter
	Corrupted  uint64 // arrived with wrong bits
	Nobody     uint64 // arrived where there was no socket
	Overflowed uint64 // found a socket's receive buffer full
	Arrived    uint64 // entered a receive buffer
}

// New makes a network without hosts over w. In the Real mode no other code may step w.
func New(w *sim.World, opts Options) *Network {
	opts.setDefaults()
	return &Network{
		sim:   w,
		opts:  opts,
		start: time.Now(),
		at:    make(map[netip.Addr]*Host),
		paths: make(map[[2]*Host]*path),
	}
}

// enter takes the network's lock and, in the Real mode, runs due events.
func (n *Network) enter() {
	n.mu.Lock()
	if n.opts.Mode == Real {
		n.sim.AdvanceTo(time.Since(n.start))
	}
}

// leave releases the lock, after waking sleepers that would miss an event.
func (n *Network) leave() {
	if len(n.sleeping) > 0 {
		next, ok := n.sim.Next()
		for _, d := range n.sleeping {
			if ok && (d.until < 0 || next < d.until) {
				d.kick()
			}
		}
	}
	n.mu.Unlock()
}

// Clock is virtual time.
func (n *Network) Clock() time.Duration {
	if n.opts.Mode == Real {
		return time.Since(n.start)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sim.Now()
}

// Sim is the world below, which tests step in the Stepped mode.
func (n *Network) Sim() *sim.World { return n.sim }

// Idle advances to the next event, or virtual time by timeout if there is none (< 0: no
// limit). Waiting calls need it in the Stepped mode. A wait that nothing can end panics,
// because in a test it would hang.
func (n *Network) Idle(timeout time.Duration) {
	n.enter()
	defer n.leave()
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

// Stats returns the counts so far.
func (n *Network) Stats() Stats {
	n.enter()
	defer n.leave()
	return n.stats
}

// SetFilter sets a function that decides for every datagram that leaves a socket whether it
// continues; nil keeps all. Tests use it to lose a certain packet, or to record packets for a
// replay. keep must not call the network, nor change the payload; it may keep a reference to
// it.
func (n *Network) SetFilter(keep func(Datagram) bool) {
	n.enter()
	defer n.leave()
	n.filter = keep
}

// Inject makes a datagram with any source address arrive now, at the host that has the
// address d.To. Links, limits and partitions do not apply, only the receive buffer. Inject
// copies the payload.
func (n *Network) Inject(d Datagram) {
	n.enter()
	defer n.leave()
	d.Payload = bytes.Clone(d.Payload)
	n.trace("inject %s > %s: %d bytes", d.From, d.To, len(d.Payload))
	n.sim.After(0, func() { n.arrive(n.at[d.To.Addr().Unmap()], d) })
}

// SetLink sets the link from one host to another; the opposite direction does not change.
func (n *Network) SetLink(from, to *Host, link sim.LinkOptions) {
	n.enter()
	defer n.leave()
	n.sim.SetLink(from.name, to.name, link)
}

// SetRate puts a bottleneck into the path from one host to another, in that direction only.
func (n *Network) SetRate(from, to *Host, r sim.Rate) {
	n.enter()
	defer n.leave()
	n.path(from, to).neck.SetRate(r)
}

// SetMTU changes the MTU of the path from one host to another: the largest payload, at least
// dgram.PayloadMin bytes. Larger packets vanish. Unless silent, the sending host learns the new
// MTU, if the way back is open. It notices an increase within dgram.PathMTUAge.
func (n *Network) SetMTU(from, to *Host, bytes int, silent bool) {
	n.enter()
	defer n.leave()
	n.path(from, to).setMTU(bytes, silent)
}

// Cut partitions two hosts. Datagrams under way are lost, too.
func (n *Network) Cut(a, b *Host) {
	n.CutOneWay(a, b)
	n.CutOneWay(b, a)
}

// CutOneWay stops everything from one host to another; the opposite direction stays open.
func (n *Network) CutOneWay(from, to *Host) {
	n.enter()
	defer n.leave()
	n.trace("cut %s > %s", from.name, to.name)
	n.sim.CutOneWay(from.name, to.name)
}

// Heal undoes the cuts between two hosts.
func (n *Network) Heal(a, b *Host) {
	n.enter()
	defer n.leave()
	n.trace("heal %s, %s", a.name, b.name)
	n.sim.Heal(a.name, b.name)
}

// HealAll undoes every cut.
func (n *Network) HealAll() {
	n.enter()
	defer n.leave()
	n.trace("heal all")
	n.sim.HealAll()
}

func (n *Network) trace(format string, args ...any) {
	if n.opts.Trace != nil {
		n.opts.Trace(fmt.Sprintf("%v ", n.sim.Now()) + fmt.Sprintf(format, args...))
	}
}

package simdgram

import (
	"bytes"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram"
)

// A path is the way from one host to another: out of the sender's card, through a
// bottleneck of its own, over a link of the world, into the receiver's card.
type path struct {
	n        *Network
	from, to *Host
	neck     *sim.Bottleneck
	mtu      int           // what it lets through
	silent   bool          // and says nothing about larger ones
	change   time.Duration // when it changes by itself; 0: never

	known   int // what the sending host believes; 0: nothing but its own link
	learned time.Duration
}

func (n *Network) path(from, to *Host) *path {
	key := [2]*Host{from, to}
	p := n.paths[key]
	if p == nil {
		p = &path{n: n, from: from, to: to, neck: n.sim.NewBottleneck(sim.Rate{}), mtu: n.opts.MTUBytes}
		p.plan()
		n.paths[key] = p
	}
	return p
}

// plan draws when the MTU changes by itself.
func (p *path) plan() {
	if every := p.n.opts.MTUChangeEvery; every > 0 {
		p.change = p.n.sim.Now() + p.n.sim.Between(1, 2*every)
	}
}

// wander changes the MTU if it is time.
func (p *path) wander() {
	if p.change == 0 || p.n.sim.Now() < p.change {
		return
	}
	most := p.n.opts.MTUBytes
	to := dgram.PayloadMin + p.n.sim.Rand().IntN(most-dgram.PayloadMin+1)
	if p.n.sim.Chance(0.3) {
		to = most
	}
	p.setMTU(to, p.n.sim.Chance(p.n.opts.Silent))
	p.plan()
}

func (p *path) setMTU(bytes int, silent bool) {
	p.mtu, p.silent = clampMTU(bytes), silent
	p.n.trace("%s > %s: mtu %d, silent %v", p.from.name, p.to.name, p.mtu, p.silent)
}

// believed is the MTU that the sending host knows of. What it knows is forgotten
// after a while, if it is no longer so.
func (p *path) believed() int {
	p.wander()
	if p.known > 0 && p.mtu > p.known && p.n.sim.Now()-p.learned >= dgram.PathMTUAge {
		p.known = 0
	}
	if p.known == 0 {
		return p.n.opts.MTUBytes
	}
	return min(p.known, p.n.opts.MTUBytes)
}

// carry takes a datagram that left the sender's card, until it arrives.
func (p *path) carry(d Datagram) {
	n := p.n
	if len(d.Payload) > p.mtu {
		n.stats.Vanished++
		n.trace("%s > %s: %d bytes are too many", d.From, d.To, len(d.Payload))
		p.report()
		return
	}
	n.pass(p.neck, len(d.Payload), func() {
		n.sim.Link(p.from.name, p.to.name).Send(func(corrupt bool) {
			got := d
			if corrupt {
				got.Payload = n.corrupt(d.Payload)
			}
			n.pass(p.to.down, len(d.Payload), func() { n.arrive(p.to, got) })
		})
	})
}

// report tells the sending host that a datagram was too big.
func (p *path) report() {
	if p.silent {
		return
	}
	mtu := p.mtu
	p.n.sim.Link(p.to.name, p.from.name).Send(func(corrupt bool) {
		if !corrupt {
			p.known, p.learned = mtu, p.n.sim.Now()
		}
	})
}

// pass takes a datagram through a bottleneck, or reports that there was no room.
func (n *Network) pass(b *sim.Bottleneck, payload int, next func()) bool {
	at, ok := b.Pass(payload + n.opts.HeaderBytes)
	switch {
	case !ok:
		n.stats.Dropped++
		n.trace("no room for %d bytes", payload)
	case at == n.sim.Now():
		next()
	default:
		n.sim.At(at, next)
	}
	return ok
}

// corrupt is a copy of bytes with one or a few wrong bits.
func (n *Network) corrupt(p []byte) []byte {
	n.stats.Corrupted++
	q := bytes.Clone(p)
	if len(q) == 0 {
		return q
	}
	for bit := n.sim.Rand().IntN(8 * len(q)); ; bit = n.sim.Rand().IntN(8 * len(q)) {
		q[bit/8] ^= 1 << (bit % 8)
		// Two flips of one bit would be none.
		if n.sim.Chance(0.5) && !bytes.Equal(p, q) {
			return q
		}
	}
}

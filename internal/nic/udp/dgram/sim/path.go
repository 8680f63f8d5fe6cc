package simdgram

import (
	"bytes"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// A path is the way from one host to another: through the sender's card, the
// path's own bottleneck, a link of the world, and the receiver's card.
type path struct {
	n        *Network
	from, to *Host
	neck     *sim.Bottleneck
	mtu      int           // the largest payload that gets through
	silent   bool          // larger ones are dropped without notice
	change   time.Duration // time of the next change; 0: never

	known   int // the MTU that the sending host knows; 0: only that of its own link
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

// plan draws the time of the next MTU change.
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

// believed is the MTU that the sending host assumes. A wrong value is forgotten
// after a while.
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

// carry carries a datagram from the sender's card to its arrival.
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

// pass passes a datagram through a bottleneck. It reports false if there was no
// room.
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

// corrupt returns a copy of bytes with one or a few wrong bits.
func (n *Network) corrupt(p []byte) []byte {
	n.stats.Corrupted++
	q := bytes.Clone(p)
	if len(q) == 0 {
		return q
	}
	for bit := n.sim.Rand().IntN(8 * len(q)); ; bit = n.sim.Rand().IntN(8 * len(q)) {
		q[bit/8] ^= 1 << (bit % 8)
		// Flipping the same bit twice would change nothing.
		if n.sim.Chance(0.5) && !bytes.Equal(p, q) {
			return q
		}
	}
}

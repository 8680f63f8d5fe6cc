package peertest

import (
	"math/rand/v2"
	"time"

	"github.com/viaduct-hpc/viaduct/peer"
)

// Walk does things to a world at random: it posts and cancels, and loses,
// repeats and reorders what is under way. Everything comes from Rand.
type Walk struct {
	World *World
	Rand  *rand.Rand
	// Loss and Dup are the chances that something under way is lost, or
	// comes twice.
	Loss, Dup float64
	// LoseNotices: the word that a link is gone may be lost too, so that
	// one side goes on alone until keep-alives tell.
	LoseNotices bool
	// Faults is the chance, per step, that a node restarts, changes its
	// version, drops the other's address or breaks a link.
	Faults float64
}

func (k *Walk) chance(p float64) bool { return k.Rand.Float64() < p }

func (k *Walk) node() *Node { return k.World.nodes[k.Rand.IntN(len(k.World.nodes))] }

// pair draws a living node and the name of another one.
func (k *Walk) pair() (*Node, string, bool) {
	n, other := k.node(), k.node()
	return n, other.Name, n != other && n.Alive
}

// Steps takes a number of random steps.
func (k *Walk) Steps(count int) {
	for range count {
		k.step()
	}
}

func (k *Walk) step() {
	switch r := k.Rand.Float64(); {
	case r < k.Faults:
		k.fault()
	case r < 0.15:
		if n, to, ok := k.pair(); ok {
			k.World.PostSend(n, to)
		}
	case r < 0.20:
		if n, from, ok := k.pair(); ok {
			k.World.PostRecv(n, from)
		}
	case r < 0.23:
		k.cancel()
	case r < 0.30:
		k.World.Advance(k.World.Now + time.Duration(k.Rand.Int64N(int64(40*time.Millisecond))))
	case r < 0.305:
		k.World.Advance(k.World.Now + time.Duration(k.Rand.Int64N(int64(3*time.Second))))
	default:
		k.network()
	}
}

// network lets something arrive, whichever was sent first, or not at all.
func (k *Walk) network() {
	items := k.World.items
	if len(items) == 0 {
		return
	}
	it := items[k.Rand.IntN(len(items))]
	if k.chance(0.6) {
		it = items[0]
	}
	mayLose := !it.Reliable() && (k.LoseNotices || !it.LinkNotice())
	switch {
	case mayLose && k.chance(k.Loss):
		k.World.logf("lost: %v", it)
		k.World.Drop(it)
	case mayLose && !it.Message() && k.chance(k.Dup):
		k.World.Dup(it)
	default:
		k.World.Deliver(it)
	}
}

// cancel cancels one of the newest operations, done or not.
func (k *Walk) cancel() {
	ops := k.World.ops
	if len(ops) > 0 {
		k.World.Cancel(ops[len(ops)-1-k.Rand.IntN(min(len(ops), 8))])
	}
}

func (k *Walk) fault() {
	w := k.World
	switch k.Rand.IntN(5) {
	case 0:
		n := k.node()
		w.logf("%s restarts", n.Name)
		w.Restart(n, k.session())
	case 1:
		n := k.node()
		w.logf("%s dies", n.Name)
		w.Kill(n)
	case 2:
		if n, name, ok := k.pair(); ok {
			w.Disconnect(n.Peer(name), []peer.Reason{peer.ReasonDropped, peer.ReasonProtocol}[k.Rand.IntN(2)])
		}
	case 3:
		if len(w.links) > 0 {
			l := w.links[len(w.links)-1-k.Rand.IntN(min(len(w.links), 4))]
			w.logf("link of %v breaks", l.ends[0].peer)
			w.Break(l)
		}
	case 4:
		n := k.node()
		n.SetVersion(3 - n.cfg.Local.Version)
		w.logf("%s speaks version %d", n.Name, n.cfg.Local.Version)
	}
}

// session draws the number of a new session.
func (k *Walk) session() uint64 { return k.Rand.Uint64N(1<<16) + 1 }

// Settle ends the faults, brings every node back to life and to one version,
// gives the world a time to come to rest, and checks that it has.
func (k *Walk) Settle(within time.Duration) {
	w := k.World
	w.logf("the faults end")
	for _, n := range w.nodes {
		n.SetVersion(w.Config.Local.Version)
		if !n.Alive {
			w.Restart(n, k.session())
		}
	}
	if !w.Run(w.Now + within) {
		w.violated("the world does not come to rest")
	}
	w.CheckSettled()
}

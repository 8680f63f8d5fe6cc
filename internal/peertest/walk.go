package peertest

import (
	"math/rand/v2"
	"time"

	"github.com/viaduct-hpc/viaduct/peer"
)

// Walk drives a world at random: it posts and cancels, and loses, repeats and
// reorders what is under way. All randomness comes from Rand.
type Walk struct {
	World *World
	Rand  *rand.Rand
	// Loss and Dup are the probabilities that an item is lost or arrives twice.
	Loss, Dup float64
	// LoseNotices: the report that a link is gone may be lost too, so that one
	// side continues alone until keep-alives tell.
	LoseNotices bool
	// Faults is the probability, per step, that a node restarts, changes its
	// version, drops the other's address or breaks a link.
	Faults float64

	sessions uint64
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
	case r < 0.12:
		if n, to, ok := k.pair(); ok {
			k.World.PostSend(n, to)
		}
	case r < 0.20:
		if n, from, ok := k.pair(); ok {
			k.World.PostRecv(n, from)
		}
	case r < 0.22:
		k.cancel()
	case r < 0.222:
		k.pass(2 * time.Second)
	case r < 0.32:
		k.pass(4 * time.Millisecond)
	case len(k.World.items) == 0:
		if p, due := k.World.nextDue(); p != nil {
			k.World.Advance(max(due, k.World.Now))
		}
	default:
		k.network()
	}
}

// pass lets time pass, up to most.
func (k *Walk) pass(most time.Duration) {
	k.World.Advance(k.World.Now + time.Duration(k.Rand.Int64N(int64(most))))
}

// network delivers an item, in any order, or loses it.
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
	for _, n := range w.nodes {
		if !n.Alive {
			w.logf("%s starts again", n.Name)
			w.Restart(n, k.session())
			return
		}
	}
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

// session draws the number of a new session, never used before.
func (k *Walk) session() uint64 {
	k.sessions++
	return k.Rand.Uint64N(1<<16)<<16 + k.sessions
}

// AddNode makes a node with a session of its own.
func (k *Walk) AddNode(name string) *Node { return k.World.AddNode(name, k.session()) }

// Settle ends the faults, revives every node, sets one version, gives the world
// time to come to rest, and checks that it has. Then every node sends to every
// other node that it can reach, which must succeed.
func (k *Walk) Settle(within time.Duration) {
	w := k.World
	w.logf("the faults end")
	for _, n := range w.nodes {
		n.SetVersion(w.Config.Local.Version)
		if !n.Alive {
			w.Restart(n, k.session())
		}
	}
	k.rest(within)
	var probes []*Op
	for _, from := range w.nodes {
		for _, to := range w.nodes {
			if from != to && !to.Hidden {
				probes = append(probes, w.PostSend(from, to.Name))
			}
		}
	}
	k.rest(within)
	for _, op := range probes {
		if op.Done != 1 || op.Err != peer.ReasonNone {
			w.violated("%v of %v, posted after all faults, failed: %v", op, op.peer, op.Err)
		}
	}
}

func (k *Walk) rest(within time.Duration) {
	if !k.World.Run(k.World.Now + within) {
		k.World.violated("the world does not come to rest")
	}
	k.World.CheckSettled()
}

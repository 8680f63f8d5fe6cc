package link

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/peer"
)

// TestPackets: with NICs of any capabilities and delays, packets arrive unchanged and in the order in which they were sent, lent
// memory comes back once, and withheld credits stop only messages.
func TestPackets(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		rng := sim.New(sim.Options{Seed: seed}).Rand()
		opts, lossy := simnic.RandomOptions(rng), sim.RandomLink(rng)
		w := newWorld(t, seed, opts, lossy)
		w.connect()
		for _, e := range w.ends {
			e.last = 300
			e.withhold = func(uint32) bool { return w.sim.Chance(0.1) }
			e.send()
		}
		w.until(func() bool {
			for _, e := range w.ends {
				if e.link.Withholds() && w.sim.Chance(0.05) {
					e.link.Release()
				}
			}
			return len(w.ends[0].arrived)+len(w.ends[1].arrived) == 600
		})
		w.until(func() bool { return w.ends[0].UnderWay()+w.ends[1].UnderWay() == 0 })
		assert.Empty(t, w.ends[0].lent)
		assert.Empty(t, w.ends[1].lent)
		for _, e := range w.ends {
			w.inOrder(e)
			assert.Empty(t, e.broke)
			assert.Empty(t, e.breached)
			assert.NotZero(t, e.resumes, "16 credits for 300 packets")
		}
		w.close()
	})
}

// close closes both ends of a link.
func (w *world) close() {
	w.t.Helper()
	for _, e := range w.ends {
		e.link.Close()
	}
	w.until(func() bool { return w.ends[0].Live()+w.ends[1].Live() == 0 })
	w.until(func() bool { return len(w.ends[0].oldTags)+len(w.ends[1].oldTags) == 0 })
	for _, e := range w.ends {
		assert.NoError(w.t, e.Close())
	}
}

// quiet is a world whose NICs make no trouble, with its link open.
func quiet(t *testing.T) *world {
	w := newWorld(t, 1, simnic.Options{}, sim.LinkOptions{DelayMin: time.Microsecond})
	w.connect()
	return w
}

// TestBreaches: a peer that breaks a rule of the header is noticed at once, and nothing of
// that packet takes effect.
func TestBreaches(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(from, to *end)
		says    string
	}{
		"a sequence number is left out":  {func(from, _ *end) { from.link.sendSeq++ }, "want sequence number 1"},
		"a sequence number comes again":  {func(from, _ *end) { from.link.sendSeq-- }, "want sequence number 1"},
		"the id of another link":         {func(from, _ *end) { from.link.theirID++ }, "peer id"},
		"no id after the handshake":      {func(from, _ *end) { from.link.theirID = 0 }, "peer id"},
		"more credits than it was given": {func(from, _ *end) { from.link.credits.Reset(8, 8); from.link.credits.Owe(false) }, "returned 1 credits, and had only 0"},
		"a packet for which it has no credit": {func(from, to *end) {
			to.link.credits.Reset(creditsPerLink, 1)
			to.link.credits.Owe(true)
			from.link.sendSeq, to.link.recvSeq = 1, 1
		}, errOverdrawn.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			w := quiet(t)
			from, to := w.ends[0], w.ends[1]
			c.prepare(from, to)
			from.last = 1
			from.send()
			w.until(func() bool { return len(to.breached) == 1 })
			assert.ErrorContains(t, to.breached[0], c.says)
			assert.ErrorIs(t, to.link.TakeCause(), to.breached[0])
			assert.Empty(t, to.arrived)
			w.until(func() bool { return len(from.broke) == 1 })
			w.close()
		})
	}
}

// TestMessagesWait: if all messages of a peer are withheld, it stops, and goes on when they
// are released.
func TestMessagesWait(t *testing.T) {
	w := quiet(t)
	a, b := w.ends[0], w.ends[1]
	b.withhold = func(uint32) bool { return true }
	a.last = 3 * creditsPerLink
	a.send()
	w.settle()
	require.Less(t, len(b.arrived), 3*creditsPerLink, "nothing was withheld")
	require.False(t, a.link.MayMessage())
	b.withhold = nil
	b.link.Release()
	w.until(func() bool { return len(b.arrived) == 3*creditsPerLink })
	w.inOrder(b)
	w.close()
}

// TestControlWaits: control packets wait for a credit, in order.
func TestControlWaits(t *testing.T) {
	w := quiet(t)
	a, b := w.ends[0], w.ends[1]
	b.deaf = true
	const all = 3 * creditsPerLink
	for n := range uint32(all) {
		p := a.Take()
		p.Body = append(p.Body, body(n+1, a.link.PacketBytes())...)
		a.link.SendControl(p, matchbits.TypeFin, 0, 0)
	}
	w.settle()
	require.Less(t, len(b.arrived), all, "nothing was withheld")
	require.False(t, a.link.MayMessage(), "it would overtake them")
	require.False(t, a.link.MayData())
	b.deaf = false
	b.link.Release()
	w.until(func() bool { return len(b.arrived) == all })
	w.inOrder(b)
	w.close()
}

// TestNothingOvertakesTheHandshake: while the NIC has no room for CONN_ACK, neither CREDIT nor KEEP_ALIVE is sent. The peer would take
// that for a breach. Other packets that wait are overtaken.
func TestNothingOvertakesTheHandshake(t *testing.T) {
	for kind, passes := range map[matchbits.Type]uint32{matchbits.TypeConnAck: 0, matchbits.TypeFin: 2} {
		w := quiet(t)
		l := &w.ends[0].link
		p := w.ends[0].Take()
		p.kind = kind
		p.whole()
		l.control.Push(p)
		sent := l.sendSeq
		l.credits.Owe(false)
		l.returnCredits()
		l.SendBare(matchbits.TypeKeepAlive, 0)
		require.Equal(t, passes, l.sendSeq-sent, "%v waits", kind)
		w.ends[0].Give(l.control.Pop())
		w.close()
	}
}

// settle lets everything happen that is under way.
func (w *world) settle() {
	for range 1000 {
		w.poll()
		w.sim.Step()
	}
}

// inOrder checks what has arrived.
func (w *world) inOrder(e *end) {
	for i, n := range e.arrived {
		require.Equal(w.t, uint32(i+1), n)
	}
	assert.Zero(w.t, e.bad)
}

// TestBreak: a link that breaks says why, in a Poll and not within the call that found it,
// and packets that wait are given back.
func TestBreak(t *testing.T) {
	w := quiet(t)
	a := w.ends[0]
	a.link.credits.Reset(1, creditsPerLink) // control packets have to wait
	p := a.Take()
	a.link.SendControl(p, matchbits.TypeFin, 0, 0)
	a.link.credits.Reset(creditsPerLink, creditsPerLink)
	q := a.Take()
	a.link.SendControl(q, matchbits.TypeFin, 0, 0)
	require.Same(t, p, a.link.control.Head())
	require.Same(t, q, a.link.control.Tail(), "it must not overtake the first")
	a.link.Break(errOverdrawn)
	require.Empty(t, a.broke)
	assert.True(t, a.soon, "a Poll is due")
	assert.True(t, a.Restless())
	assert.False(t, a.link.Open())
	w.until(func() bool { return len(a.broke) == 1 })
	assert.ErrorIs(t, a.broke[0], errOverdrawn)
	assert.Nil(t, a.link.control.Head())
	assert.Same(t, q, a.Take())
	assert.Same(t, p, a.Take())
	w.close()
}

// TestFlushedFirst: descriptors may come back before the event that says why. The link waits
// for it, but not for ever.
func TestFlushedFirst(t *testing.T) {
	for _, known := range []bool{true, false} {
		w := quiet(t)
		a := w.ends[0]
		a.link.Break(errFlushed)
		a.Poll()
		require.Empty(t, a.broke)
		want := errFlushed
		if known {
			want = nic.ErrPeerDied
			a.link.Break(want)
			a.link.Break(errOverdrawn) // nothing takes its place
		} else {
			for range causeWaitPolls {
				a.Poll()
			}
		}
		a.Poll()
		require.Len(t, a.broke, 1)
		assert.ErrorIs(t, a.broke[0], want)
		w.close()
	}
}

// TestCrash: the death of a peer is the cause, although its descriptors come back first.
func TestCrash(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		opts := simnic.RandomOptions(sim.New(sim.Options{Seed: seed}).Rand())
		w := newWorld(t, seed, opts, sim.LinkOptions{DelayMin: time.Microsecond})
		w.connect()
		a := w.ends[0]
		a.last = 1000
		a.send()
		w.nics.Crash("b")
		w.until(func() bool { return len(a.broke) == 1 })
		reason, remote := Reason(a.broke[0])
		assert.False(t, remote)
		assert.Equal(t, peer.ReasonPeerDied, reason, "%v", a.broke[0])
		assert.False(t, a.link.InUse())
		w.until(func() bool { return a.Live() == 0 && len(a.lent) == 0 && a.UnderWay() == 0 })
	})
}

// TestRefused: the reason of a refusal arrives.
func TestRefused(t *testing.T) {
	w := newWorld(t, 1, simnic.Options{}, sim.LinkOptions{DelayMin: time.Microsecond})
	a, b := w.ends[0], w.ends[1]
	require.NoError(t, a.Connect(&a.link, 1, "b", &wire.LinkReq{}, 0)) // has no session: not readable
	w.until(func() bool { return len(a.failed) == 1 })
	reason, remote := Reason(a.failed[0])
	assert.Equal(t, peer.ReasonProtocol, reason)
	assert.True(t, remote)
	assert.Zero(t, b.Live())
	w.close()
}

// TestUnsuitable: a NIC that cannot carry the protocol is refused when it is opened.
func TestUnsuitable(t *testing.T) {
	caps := simnic.DefaultCaps()
	caps.RecvDepthMax = wire.CreditsMin - 1
	w := simnic.New(sim.New(sim.Options{Seed: 1}), simnic.Options{Caps: caps})
	_, err := Open(w, Config{Clock: w.Clock, Credits: creditsPerLink})
	require.ErrorIs(t, err, ErrUnsuitable)
	assert.ErrorContains(t, err, "descriptors")
}

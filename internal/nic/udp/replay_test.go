package udp_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// An overheard is a connection of which an attacker sees every packet.
type overheard struct {
	t     *testing.T
	w     *udptest.World
	a, b  *side // a asked
	c     *talk // from a to b
	heard []simdgram.Datagram
}

func newOverheard(t *testing.T, seed uint64, p udp.Provider) *overheard {
	w := udptest.New(seed, sim.LinkOptions{DelayMin: 5 * time.Microsecond}, simdgram.Options{}, p)
	o := &overheard{t: t, w: w, a: newSide(t, w, w.NewName()), b: newSide(t, w, w.NewName())}
	w.Net.SetFilter(func(d simdgram.Datagram) bool {
		o.heard = append(o.heard, d)
		return true
	})
	o.c = newTalk(o.a, o.b, talkSize)
	o.a.dial(o.b)
	o.talks(nil)
	return o
}

// talks proves that messages arrive.
func (o *overheard) talks(meanwhile func()) {
	o.t.Helper()
	first := o.c.total
	within(o.t, time.Second, "200 messages arrive", func() bool {
		o.c.speak()
		if meanwhile != nil {
			meanwhile()
		}
		return o.c.total > first+200
	}, o.a, o.b)
}

// done waits until everything that was sent has arrived and is done, and no packet is on
// its way.
func (o *overheard) done() {
	o.t.Helper()
	o.c.quiet = true
	within(o.t, time.Second, "everything is done", func() bool { return o.c.pending == 0 }, o.a, o.b)
	acked := o.w.Clock() + 10*time.Millisecond
	within(o.t, time.Second, "nothing is under way", func() bool { return o.w.Clock() > acked }, o.a, o.b)
	o.c.quiet = false
	require.Equal(o.t, o.c.next, o.c.total)
}

// repeat sends all packets captured so far, each after a change.
func (o *overheard) repeat(change func(*simdgram.Datagram)) {
	o.send(o.heard, change)
	turn(o.a, o.b)
}

func (o *overheard) send(packets []simdgram.Datagram, change func(*simdgram.Datagram)) {
	for i, d := range packets {
		change(&d)
		o.w.Net.Inject(d)
		if i%32 == 31 {
			turn(o.a, o.b)
		}
	}
}

func same(*simdgram.Datagram) {}

func otherHost(d *simdgram.Datagram) {
	d.From = netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), d.From.Port())
}

func otherPort(d *simdgram.Datagram) { d.From = netip.AddrPortFrom(d.From.Addr(), d.From.Port()^1) }

func reflected(d *simdgram.Datagram) { d.From, d.To = d.To, d.From }

// unmoved proves that the connection is as it was: the same one, between the same two
// addresses.
func (o *overheard) unmoved() {
	o.t.Helper()
	o.done()
	require.True(o.t, o.a.up && o.b.up)
	require.Equal(o.t, []int{0, 1}, []int{o.a.asked, o.b.asked})
	require.Equal(o.t, []int{1, 1}, []int{o.a.ups, o.b.ups})
	for _, s := range []*side{o.a, o.b} {
		stats := s.d.Stats()
		require.Zero(o.t, stats.Moved, "somebody else gets the answers")
		require.Zero(o.t, stats.Protocol)
		require.Equal(o.t, 1, stats.Conns)
	}
}

func each(t *testing.T, fn func(t *testing.T, seed uint64, p udp.Provider)) {
	for name, p := range map[string]udp.Provider{"secure": {Key: udptest.Key}, "static": {Identity: udptest.Static}, "insecure": {Insecure: true}} {
		t.Run(name, func(t *testing.T) {
			sim.RunAtMost(t, 5, func(t *testing.T, seed uint64) { fn(t, seed, p) })
		})
	}
}

// TestReplays sends all packets of both sides of a connection again, from their own
// address and from another, and again after the connection has ended: they have no
// effect.
func TestReplays(t *testing.T) {
	each(t, func(t *testing.T, seed uint64, p udp.Provider) {
		o := newOverheard(t, seed, p)
		o.done()
		for _, change := range []func(*simdgram.Datagram){same, otherHost, otherPort} {
			o.repeat(change)
			o.unmoved()
		}
		require.NotZero(t, o.b.d.Stats().Replayed)

		o.a.port.Disconnect()
		within(t, 5*time.Second, "nothing stays behind", func() bool {
			return o.a.d.Stats().Conns+o.b.d.Stats().Conns == 0
		}, o.a, o.b)
		o.repeat(same)
		require.Equal(t, 1, o.b.asked, "the request is known")
		within(t, 15*time.Second, "cookies expire", func() bool { return o.w.Clock() > 14*time.Second }, o.a, o.b)
		o.repeat(same)
		require.Equal(t, 1, o.b.asked, "the request is too old")
		require.Zero(t, o.a.d.Stats().Conns+o.b.d.Stats().Conns)
		require.Equal(t, o.c.next, o.c.total)
	})
}

// TestReflections sends packets of both sides back to them, at once and later.
func TestReflections(t *testing.T) {
	each(t, func(t *testing.T, seed uint64, p udp.Provider) {
		o := newOverheard(t, seed, p)
		next := len(o.heard)
		o.talks(func() {
			news := o.heard[next:]
			next = len(o.heard)
			for _, d := range news {
				reflected(&d)
				o.w.Net.Inject(d)
			}
		})
		o.done()
		o.repeat(reflected)
		o.unmoved()
		for _, s := range []*side{o.a, o.b} {
			stats := s.d.Stats()
			require.NotZero(t, stats.Stray+stats.Resets)
			require.Zero(t, stats.Sockets[wire.LaneData].Overflowed)
		}
	})
}

// connIDs returns the connection ids that packets to a host have.
func (o *overheard) connIDs(host netip.Addr) map[uint32]bool {
	ids := map[uint32]bool{}
	for _, d := range o.heard {
		if p, _, err := wire.ParsePacket(d.Payload); err == nil && d.To.Addr() == host {
			ids[p.To] = true
		}
	}
	return ids
}

// TestForgedResets: only the other side can end a connection by a RESET, and an old one
// has no effect on the next connection.
func TestForgedResets(t *testing.T) {
	sim.RunAtMost(t, 5, func(t *testing.T, seed uint64) {
		o := newOverheard(t, seed, udp.Provider{Key: udptest.Key})
		at := netip.MustParseAddrPort
		forge := func(token wire.Token) {
			for id := range o.connIDs(o.b.host()) {
				m := wire.Reset{To: id, Token: token}
				o.w.Net.Inject(simdgram.Datagram{From: at(o.b.name), To: at(o.a.name), Payload: m.Append(nil)})
			}
			turn(o.a, o.b)
		}
		rng := rand.New(rand.NewPCG(seed, 44))
		forge(wire.Token{})
		for range 1000 {
			var token wire.Token
			for i := range token {
				token[i] = byte(rng.Uint32())
			}
			forge(token)
		}
		require.EqualValues(t, 1001, o.a.d.Stats().Stray)
		o.unmoved()

		o.w.Crash(o.b.name)
		o.b.open()
		o.c.register()
		o.c.speak()
		within(t, time.Second, "a notices the restart", func() bool { return !o.a.up }, o.a, o.b)
		require.ErrorIs(t, o.a.err, nic.ErrPeerDied)
		var genuine []wire.Reset
		for _, d := range o.heard {
			if m, err := wire.ParseReset(d.Payload); err == nil {
				genuine = append(genuine, m)
			}
		}
		require.NotEmpty(t, genuine)
		within(t, time.Second, "everything came back", func() bool { return o.c.pending == 0 }, o.a, o.b)

		o.c.restart()
		o.a.dial(o.b)
		o.talks(nil)
		for _, m := range genuine {
			forge(m.Token)
			require.Len(t, o.connIDs(o.b.host()), 2, "ids are new")
		}
		o.talks(nil)
		require.True(t, o.a.up && o.b.up)
	})
}

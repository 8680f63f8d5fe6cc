package vipltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

var peerTests = []Test{
	{"ConnectionManagement/PeerToPeer", testPeerToPeer},
	{"ConnectionManagement/PeerToPeerManyAtOnce", testPeerMany},
	{"ConnectionManagement/PeerToPeerTimeout", testPeerTimeout},
	{"ConnectionManagement/PeerToPeerOneSideStartsLater", testPeerLate},
	{"ConnectionManagement/PeerToPeerParameters", testPeerParameters},
}

func peerAddr(sd *side, discriminator string) vipl.Address {
	return vipl.Address{Host: sd.n.LocalAddr(), Discriminator: discriminator}
}

func testPeerToPeer(t *testing.T, s Setup) {
	for _, order := range []string{"ab", "ba"} {
		t.Run(order, func(t *testing.T) {
			p := newPair(t, Setup{
				Provider: s.Provider,
				Name:     func(i int) string { return s.Name(i + 10*int(order[0])) },
				Clock:    s.Clock, Step: s.Step, Seed: s.Seed,
			}, options{reliability: nic.ReliableDelivery})
			first, second := p.a, p.b
			if order == "ba" {
				first, second = p.b, p.a
			}
			opts := vipl.ConnectOptions{Local: "me", Timeout: patience}
			require.NoError(t, first.vi.ConnectPeerRequest(peerAddr(second, "me"), opts))
			require.ErrorIs(t, first.vi.ConnectPeerDone(), vipl.ErrNotDone)
			p.settleBriefly()
			require.NoError(t, second.vi.ConnectPeerRequest(peerAddr(first, "me"), opts))
			p.event(first, vipl.EventConnected)
			p.event(second, vipl.EventConnected)
			require.NoError(t, first.vi.ConnectPeerDone())
			require.NoError(t, second.vi.ConnectPeerDone())
			assert.Equal(t, uint64(1), first.n.SystemInfo().Connections, "one connection comes out")
			_, some := first.n.NextDeadline()
			assert.False(t, some && s.Clock != nil && !s.Apart, "nothing is left to retry")
		})
	}
}

// settleBriefly lets a few things happen, but not all.
func (p *pair) settleBriefly() {
	for range 5 {
		p.a.poll()
		p.b.poll()
		p.s.Step()
	}
}

func testPeerMany(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	const many = 8
	var vis [2][many]*vipl.VI
	names := []string{"0", "1", "2", "3", "4", "5", "6", "7"}
	for i := range many {
		vis[0][i] = p.newVI(p.a, options{depth: 4})
		vis[1][i] = p.newVI(p.b, options{depth: 4})
	}
	for _, i := range p.rng.Perm(2 * many) {
		sides := []*side{p.a, p.b}
		me, k := i%2, i/2
		require.NoError(t, vis[me][k].ConnectPeerRequest(peerAddr(sides[1-me], names[k]), vipl.ConnectOptions{Local: names[k]}))
		if p.rng.IntN(2) == 0 {
			p.settleBriefly()
		}
	}
	p.until("all to connect", func() bool {
		for i := range many {
			if vis[0][i].State() != vipl.Connected || vis[1][i].State() != vipl.Connected {
				return false
			}
		}
		return true
	})
	assert.Equal(t, uint64(many), p.a.n.SystemInfo().Connections)
	assert.Equal(t, uint64(many), p.b.n.SystemInfo().Connections)
	assert.Zero(t, p.b.n.SystemInfo().RequestsWaiting)
}

func testPeerTimeout(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	opts := vipl.ConnectOptions{Local: "x", Timeout: 20 * time.Millisecond}
	for _, pair := range [][2]*side{{p.a, p.b}, {p.b, p.a}} {
		// The other side never calls. Neither the side that calls, nor the side that waits for a
		// call, may hang.
		require.NoError(t, pair[0].vi.ConnectPeerRequest(peerAddr(pair[1], "y"), opts))
		// On a busy machine the time may be over already.
		if pair[0].vi.State() == vipl.PendingConnect {
			at, ok := pair[0].n.NextDeadline()
			assert.True(t, ok, "somebody must poll again at %v", at)
		}
		p.untilTime(20*time.Millisecond, func() bool { return pair[0].vi.State() == vipl.Idle })
		require.ErrorIs(t, pair[0].vi.ConnectPeerDone(), vipl.ErrTimeout)
	}
}

// untilTime is until for events that need time to pass.
func (p *pair) untilTime(d time.Duration, done func() bool) {
	p.Helper()
	if p.s.Advance == nil {
		p.until("time to pass", done)
		return
	}
	for spent := time.Duration(0); spent < patience; spent += d {
		p.settle()
		if done() {
			return
		}
		p.s.Advance(d)
	}
	require.FailNow(p, "time passed, and nothing happened")
}

func testPeerLate(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	// b's device is not there yet when a starts; a has to try again.
	later := p.s.Name(5)
	opts := vipl.ConnectOptions{Local: "x", Timeout: patience}
	require.NoError(t, p.a.vi.ConnectPeerRequest(vipl.Address{Host: later, Discriminator: "x"}, opts))
	p.settleBriefly()
	require.NoError(t, p.b.n.Close())
	p.b.name = later
	n, err := vipl.OpenNIC(s.Provider, p.config(later, options{}))
	require.NoError(t, err)
	p.b.n, p.b.cq = n, nil
	p.b.tag, err = n.CreatePtag()
	require.NoError(t, err)
	p.b.cq, err = n.CreateCQ(16)
	require.NoError(t, err)
	p.b.vi = p.newVI(p.b, options{depth: 4})
	require.NoError(t, p.b.vi.ConnectPeerRequest(peerAddr(p.a, "x"), opts))
	p.untilTime(vipl.PeerRetryAfter, func() bool {
		return p.a.vi.State() == vipl.Connected && p.b.vi.State() == vipl.Connected
	})
}

func testPeerParameters(t *testing.T, s Setup) {
	p := newPair(t, s, options{waiting: true})
	me := peerAddr(p.a, "x")
	require.ErrorIs(t, p.a.vi.ConnectPeerRequest(me, vipl.ConnectOptions{Local: "x"}), vipl.ErrInvalidParameter)
	require.ErrorIs(t, p.a.vi.ConnectPeerDone(), vipl.ErrInvalidState, "nothing was asked for")
	for _, sd := range []*side{p.a, p.b} {
		// Whoever calls and whoever waits, giving up leaves the VI usable.
		require.NoError(t, sd.vi.ConnectPeerRequest(vipl.Address{Host: p.other(sd).n.LocalAddr(), Discriminator: "q"}, vipl.ConnectOptions{}))
		require.NoError(t, sd.vi.Disconnect())
		p.until("the end of the attempt", func() bool { return sd.vi.State() == vipl.Idle })
	}
	require.NoError(t, p.a.vi.ConnectPeerRequest(peerAddr(p.b, "z"), vipl.ConnectOptions{Local: "z"}))
	require.NoError(t, p.b.vi.ConnectPeerRequest(peerAddr(p.a, "z"), vipl.ConnectOptions{Local: "z"}))
	require.NoError(t, p.a.vi.ConnectPeerWait())
	require.NoError(t, p.b.vi.ConnectPeerWait())
}

func (p *pair) other(sd *side) *side {
	if sd == p.a {
		return p.b
	}
	return p.a
}

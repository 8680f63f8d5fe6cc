package simtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via"
)

// udpPair is two endpoints over datagrams, some of which are lost.
type udpPair struct {
	t    *testing.T
	w    *udptest.World
	ends [2]*bmi.Endpoint
	ctxs [2]*bmi.Context
	to   [2]bmi.Addr // the other one
}

func newUDPPair(t *testing.T) *udpPair {
	link := sim.LinkOptions{DelayMin: 50 * time.Microsecond, Loss: 0.05}
	p := &udpPair{t: t, w: udptest.New(1, link, simdgram.Options{}, udp.Provider{Insecure: true})}
	for i := range p.ends {
		var err error
		p.ends[i], err = bmi.Open(context.Background(), bmi.Config{
			Manual: true, Clock: p.w.Clock, Methods: []string{simUDPScheme},
			Listen:  []string{simUDPScheme + "://" + p.w.NewName()},
			Options: map[string]any{simUDPScheme: simUDPOptions{p.w, via.Options{Seed: uint64(i + 1), Idle: p.w.Idle}}},
		})
		require.NoError(t, err)
		t.Cleanup(func() { _ = p.ends[i].Close() })
		p.ctxs[i], err = p.ends[i].OpenContext()
		require.NoError(t, err)
	}
	return p
}

// move moves so many bytes from the first to the second.
func (p *udpPair) move(bytes int) {
	for i, other := range []*bmi.Endpoint{p.ends[1], p.ends[0]} {
		var err error
		p.to[i], err = p.ends[i].Lookup(other.Addresses()[0])
		require.NoError(p.t, err)
	}
	left := 2
	posted, err := p.ctxs[1].PostRecv(p.to[1], 1, make([]byte, bytes), nil)
	require.NoError(p.t, err)
	require.False(p.t, posted.Done)
	posted, err = p.ctxs[0].PostSend(p.to[0], 1, make([]byte, bytes), nil)
	require.NoError(p.t, err)
	if posted.Done {
		left--
	}
	var out [4]bmi.Completion
	for left > 0 {
		for _, c := range p.ctxs {
			n, err := c.TestContext(out[:], 0)
			require.NoError(p.t, err)
			for _, done := range out[:n] {
				require.NoError(p.t, done.Err)
				left--
			}
		}
		require.True(p.t, p.w.Step(), "the message does not arrive")
	}
}

// settle lets time pass, for connections to come to their end.
func (p *udpPair) settle() {
	var out [4]bmi.Completion
	for end := p.w.Clock() + 30*time.Second; p.w.Clock() < end; {
		for _, c := range p.ctxs {
			_, err := c.TestContext(out[:], 0)
			require.NoError(p.t, err)
		}
		require.True(p.t, p.w.Step())
	}
}

func (p *udpPair) link(i int) (method, peer netstats.Link, peers int) {
	s := p.ends[i].Stats()
	require.Len(p.t, s.Methods, 1)
	for _, one := range s.Peers {
		peer.Add(&one.Link)
	}
	return s.Methods[0].Link, peer, len(s.Peers)
}

func TestLinkStatsReachTheUser(t *testing.T) {
	p := newUDPPair(t)
	p.move(1 << 20)
	method, peer, _ := p.link(0)
	assert.Equal(t, method, peer, "one peer, and one connection")
	assert.Positive(t, method.SegmentsSent)
	assert.Positive(t, method.Retransmitted)
	assert.Positive(t, method.AcksReceived)
	assert.Positive(t, method.RoundTrips)
	assert.GreaterOrEqual(t, method.RoundTripP50, 100*time.Microsecond*7/8)
	assert.LessOrEqual(t, method.RoundTripP50, method.RoundTripP99)
	assert.LessOrEqual(t, method.RoundTripP99, method.RoundTripP999)
	packets := p.ends[0].Stats().Methods[0].Packets
	assert.Greater(t, packets.Sent, method.SegmentsSent)
	assert.Positive(t, packets.BytesReceived)
	theirs, _, _ := p.link(1)
	assert.Positive(t, theirs.SegmentsReceived)

	// The connection ends: what it took stays with the peer, and with the method
	// when the peer is forgotten.
	require.NoError(t, p.ends[1].DropAddr(p.to[1]))
	p.settle()
	after, peer, peers := p.link(0)
	require.Equal(t, 1, peers)
	assert.GreaterOrEqual(t, peer.SegmentsSent, method.SegmentsSent)
	assert.GreaterOrEqual(t, after.SegmentsSent, peer.SegmentsSent)
	gone, _, peers := p.link(1)
	require.Zero(t, peers)
	assert.GreaterOrEqual(t, gone.SegmentsReceived, theirs.SegmentsReceived)

	// The next one is added.
	p.move(1 << 20)
	method, peer, _ = p.link(0)
	assert.Greater(t, method.SegmentsSent, after.SegmentsSent)
	assert.Greater(t, peer.SegmentsSent, after.SegmentsSent)
}

func TestNICsThatLoseNothingCountNothing(t *testing.T) {
	s := newScene(t, simnic.Options{})
	a, b := s.open("a", simnic.DefaultCaps(), via.Options{}), s.open("b", simnic.DefaultCaps(), via.Options{})
	join(a, b, "b", "a")
	st := a.Stats()
	assert.Zero(t, st.Methods[0].Link)
	assert.Zero(t, st.Methods[0].Packets)
	assert.Zero(t, st.Peers[0].Link)
}

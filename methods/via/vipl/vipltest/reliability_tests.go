package vipltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

var reliabilityTests = []Test{
	{"ReliabilityLevels/UnreliableDelivery", testUnreliable},
	{"ReliabilityLevels/ReliableDelivery", testReliableDelivery},
	{"ReliabilityLevels/ReliableReception", testReliableReception},
}

// Data may be lost, but is neither corrupted nor delivered twice, and a lost
// message costs the connection nothing.
func testUnreliable(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.Unreliable})
	x := newExchange(p, p.a, p.b)
	x.lossy = true
	const many = 100
	p.until("all to be sent", func() bool {
		x.advance(many)
		return x.done(many)
	})
	p.settle()
	x.take()
	assert.Positive(t, x.received, "some must arrive")
	assert.Equal(t, vipl.Connected, p.a.vi.State())
	assert.Equal(t, vipl.Connected, p.b.vi.State())

	// A message without a receive is dropped, and nothing else happens.
	p = connected(t, renamed(s, 50), options{reliability: nic.Unreliable})
	d := vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 8))
	assert.Equal(t, nic.StatusSuccess, p.finish(p.a, d))
	p.settle()
	assert.Equal(t, vipl.Connected, p.a.vi.State())
	assert.Equal(t, vipl.Connected, p.b.vi.State())
}

// renamed is the same network with other names.
func renamed(s Setup, by int) Setup {
	name := s.Name
	s.Name = func(i int) string { return name(i + by) }
	return s
}

// Exactly once, in order, or the connection breaks.
func testReliableDelivery(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	x := newExchange(p, p.a, p.b)
	const many = 200
	p.until("all to arrive", func() bool {
		x.advance(many)
		return x.done(many)
	})
	x.check()
	assert.Equal(t, many, x.received)
}

// As above, and a send completes only when the data is in the remote memory: from
// then on nothing that happens to the sender can take it back.
func testReliableReception(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableReception})
	r := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(0, 64))
	p.recv(p.b, r)
	d := vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 64))
	pattern(d.Segments[0].Data, 3)
	require.Equal(t, nic.StatusSuccess, p.finish(p.a, d))
	if s.Crash != nil {
		s.Crash(p.a.name)
	} else {
		require.NoError(t, p.a.n.Close())
	}
	assert.Equal(t, nic.StatusSuccess, p.ended(p.b, r))
	assert.Equal(t, patterned(64, 3), payload(r))
	require.Error(t, p.event(p.b, vipl.EventDisconnected).Err)
}

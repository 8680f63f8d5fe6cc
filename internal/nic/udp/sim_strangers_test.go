package udp_test

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var elsewhere = netip.MustParseAddr("10.9.9.9") // a host that does not exist

const (
	strangerSeedsMax = 40
	strangerEvery    = 4 // steps between two datagrams of strangers
	strangerSeenMax  = 256
)

// An echoer sees all datagrams, and sends copies of them, changed or not.
type echoer struct {
	w    *udptest.World
	rng  *rand.Rand
	seen []simdgram.Datagram
}

// listen keeps some of the datagrams.
func (s *echoer) listen(d simdgram.Datagram) bool {
	switch d.Payload = bytes.Clone(d.Payload); {
	case len(s.seen) < strangerSeenMax:
		s.seen = append(s.seen, d)
	case s.rng.IntN(8) == 0:
		s.seen[s.rng.IntN(len(s.seen))] = d
	}
	return true
}

// speak injects a datagram.
func (s *echoer) speak() {
	d := s.seen[s.rng.IntN(len(s.seen))]
	d.Payload = bytes.Clone(d.Payload)
	switch s.rng.IntN(4) {
	case 0: // again
	case 1:
		d.Payload[s.rng.IntN(len(d.Payload))]++
	case 2:
		d.Payload = d.Payload[:1+s.rng.IntN(len(d.Payload))]
	case 3:
		d.From = netip.AddrPortFrom(elsewhere, uint16(s.rng.Uint32()|1))
	}
	s.w.Net.Inject(d)
}

// secret returns a provider with keys of one kind or another.
func secret(seed uint64) udp.Provider {
	return []udp.Provider{{Key: udptest.Key}, {Identity: udptest.Static}, {Key: udptest.Key, Identity: udptest.Static}}[seed%3]
}

// TestSimStrangersChangeNothing: a connection continues although copied, changed and invented
// datagrams arrive at its sockets.
func TestSimStrangersChangeNothing(t *testing.T) {
	sim.RunAtMost(t, strangerSeedsMax, func(t *testing.T, seed uint64) {
		p := newPipe(t, udptest.New(seed, lan, simdgram.Options{}, secret(seed)))
		s := &echoer{w: p.w, rng: rand.New(rand.NewPCG(seed, 71))}
		p.w.Net.SetFilter(s.listen)
		p.connect()
		d, steps := p.post(nic.OpRDMAWrite), 0
		p.until("the data", func() bool {
			if steps++; steps%strangerEvery == 0 {
				s.speak()
			}
			return d.Status != nic.StatusPending || p.a.over
		})
		require.Equal(t, nic.StatusSuccess, d.Status, "%v", p.a.err)
		require.True(t, bytes.Equal(p.a.mem, p.b.mem))
		require.False(t, p.b.over, "%v", p.b.err)
		p.part()
	})
}

// TestSimOvertaken: copies of packets overtake the originals, from another address.
// Packets sent there are lost, but soon they go to the right address again.
func TestSimOvertaken(t *testing.T) {
	sim.RunAtMost(t, strangerSeedsMax, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 72))
		p := newPipe(t, udptest.New(seed, lan, simdgram.Options{}, secret(seed)))
		p.connect()
		var race []simdgram.Datagram
		p.w.Net.SetFilter(func(d simdgram.Datagram) bool {
			if rng.IntN(5) == 0 {
				d.From = netip.AddrPortFrom(elsewhere, uint16(rng.Uint32()|1))
				race = append(race, d)
			}
			return true
		})
		start := p.w.Clock()
		for _, op := range []nic.Op{nic.OpRDMAWrite, nic.OpRDMARead, nic.OpRDMAWrite} {
			d := p.post(op)
			p.until("the data", func() bool {
				for _, r := range race {
					p.w.Net.Inject(r)
				}
				race = nil
				return d.Status != nic.StatusPending || p.a.over
			})
			require.Equal(t, nic.StatusSuccess, d.Status, "%v", p.a.err)
		}
		assert.Less(t, p.w.Clock()-start, 2*udp.GiveUp)
		assert.NotZero(t, p.a.dev.Stats().Moved+p.b.dev.Stats().Moved)
		p.part()
	})
}

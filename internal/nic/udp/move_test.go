package udp_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A racer sees the packets, and repeats one of the data lane from another address so quickly that
// the copy arrives before the original. Nothing protects addresses.
type racer struct {
	w      *udptest.World
	victim *end
	at     netip.AddrPort // the source address of the copies
	every  bool           // races every packet to the victim, not only the next
	one    bool           // races the next one
	raced  []simdgram.Datagram
	sent   int // packets
	got    int // bytes that were sent to that address
}

func newRacer(w *udptest.World, victim *end) *racer {
	r := &racer{w: w, victim: victim, at: netip.MustParseAddrPort("192.0.2.1:9")}
	w.Net.SetFilter(func(d simdgram.Datagram) bool {
		switch k, _ := wire.KindOf(d.Payload); {
		case d.To == r.at:
			r.got += len(d.Payload)
		case (r.one || r.every) && k == wire.KindPacket && d.Payload[1] == wire.LaneData && d.To.Addr() == victim.host.Addr():
			d.From, r.one = r.at, false
			r.raced = append(r.raced, d)
		}
		return true
	})
	return r
}

// race sends the copies that must arrive first.
func (r *racer) race() {
	for _, d := range r.raced {
		r.w.Net.Inject(d)
		r.sent++
	}
	r.raced = r.raced[:0]
}

const raceFor = 20 * time.Millisecond

// TestRacedPacket: traffic that was redirected, by one raced packet in the middle or by many until
// both sides have nothing left to send, finds its way back.
func TestRacedPacket(t *testing.T) {
	for _, answers := range []bool{false, true} {
		for _, long := range []bool{false, true} {
			t.Run(fmt.Sprintf("answers=%v,long=%v", answers, long), func(t *testing.T) {
				p := newPipe(t, udptest.New(1, lan, simdgram.Options{}, udp.Provider{Key: udptest.Key}))
				p.connect()
				victim := p.b
				if answers {
					victim = p.a // of the acks
				}
				r := newRacer(p.w, victim)
				quick := p.move(nic.OpRDMAWrite)
				p.w.Sim.After(quick/2, func() { r.one, r.every = true, long })
				p.w.Sim.After(quick/2+raceFor, func() { r.every = false })
				start := p.w.Clock()
				d := p.post(nic.OpRDMAWrite)
				p.until("the data", func() bool { r.race(); return d.Status != nic.StatusPending || p.a.over })
				first := p.w.Clock() - start
				require.Equal(t, nic.StatusSuccess, d.Status, "%v", p.a.err)
				assert.Less(t, first, 10*raceFor)
				assert.NotZero(t, r.sent)
				took := p.move(nic.OpRDMAWrite)
				took += p.move(nic.OpRDMARead)
				t.Logf("quick %v, attacked %v, afterwards %v, %d bytes went elsewhere", quick, first, took, r.got)
				assert.Less(t, took, 4*quick+100*time.Millisecond)
				assert.Less(t, r.got, 2*pipeBytes)
			})
		}
	}
}

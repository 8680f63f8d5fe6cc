package reliable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// FuzzHostilePeer: with any packets of a peer, in any order, the lane stays consistent, acks
// nothing twice, and never keeps more than its window in memory.
func FuzzHostilePeer(f *testing.F) {
	var seed []byte
	for _, t := range []*wire.Transport{
		ack(3), echoing(ack(1, wire.Range{First: 2, End: 5}), 10*us), ack(4, wire.Range{First: 6, End: 7}, wire.Range{First: 9, End: 40}),
		{Flags: wire.FlagAnswer | wire.FlagAck | wire.FlagEcho, Ack: 20, Echo: 1 << 31},
	} {
		seed = append(append(seed, byte(t.Len())), t.Append(nil)...)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, script []byte) {
		l := New[item](Options{Congestion: NewDelay(DelayOptions{})})
		now, ackedOnce := time.Duration(0), make(map[item]bool)
		fn := func(s *item) {
			if ackedOnce[*s] {
				t.Fatalf("%d acked twice", *s)
			}
			ackedOnce[*s] = true
		}
		for n := 0; len(script) > 0; n++ {
			now += time.Duration(script[0]) * 7 * us
			size := min(int(script[0]), len(script)-1)
			var head wire.Transport
			if segment, err := head.Parse(script[1 : 1+size]); err == nil {
				_ = l.TakeAck(now, &head, fn)
				// The packet has as many segments as segment has bytes. Every second one is
				// refused.
				fresh := l.Arrive(now, &head)
				for i := range segment {
					if i > 0 {
						fresh = l.ArriveNext(now)
					}
					if fresh && (len(segment)-i)%2 == 0 {
						l.Refuse()
					}
				}
			}
			script = script[1+size:]
			if err := l.Expire(now); err != nil {
				return
			}
			lostNow(l, now)
			for range min(l.Room(now), 10) {
				l.Send(now, item(l.next), 1000)
			}
			var out wire.Transport
			l.FillAck(now, &out)
			if _, err := new(wire.Transport).Parse(out.Append(nil)); err != nil {
				t.Fatalf("%v: %v", err, &out)
			}
			checkLane(t, l)
		}
	})
}

// The model of the simulations detects errors.
func TestTheModelSees(t *testing.T) {
	m := newModel()
	m.acked(1)
	assert.ErrorContains(t, m.wrong[0], "has not arrived")
	m = newModel()
	m.sent(1)
	m.transmitted(1, 1)
	m.delivered(1)
	m.acked(1)
	assert.Empty(t, m.wrong)
	m.acked(1)
	assert.ErrorContains(t, m.wrong[0], "acked twice")
	m.transmitted(1, 2)
	assert.ErrorContains(t, m.wrong[1], "after it was acked")
	m.delivered(1)
	assert.ErrorContains(t, m.wrong[2], "delivered twice")
	m = newModel()
	l := New[item](Options{})
	sendN(l, 0, 2)
	assert.NoError(t, l.TakeAck(us, ack(0, wire.Range{First: 1, End: 2}), nothing))
	m.latest[0] = 1
	m.resent(0, l)
	assert.ErrorContains(t, m.wrong[0], "nothing sent later")
	m.maxGot, m.wrong = 2, nil
	m.resent(0, l)
	assert.ErrorContains(t, m.wrong[0], "2 retransmissions for 1 losses")
}

// The simulation detects a lane that reports arrivals that did not happen.
func TestTheSimulationSees(t *testing.T) {
	lossy := sim.LinkOptions{DelayMin: 100 * us, Loss: 0.3}
	p := newPair(1, Options{}, lossy, lossy)
	p.start(200, 0)
	p.w.At(50*us, func() { // a false ack says that all has arrived
		_ = p.a.lane.TakeAck(50*us, ack(p.a.lane.next), p.a.acked)
	})
	_ = p.w.RunUntil(p.settled)
	assert.NotEmpty(t, p.a.model.wrong)
}

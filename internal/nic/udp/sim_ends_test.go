package udp_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

const (
	partitionSeedsMax = 60
	partitionGiveUp   = time.Second
)

// TestSimPartitionEndsBothSides: a lasting partition breaks the connection on both sides,
// within a known time, also if it blocks only one direction.
func TestSimPartitionEndsBothSides(t *testing.T) {
	sim.RunAtMost(t, partitionSeedsMax, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 51))
		provider := udp.Provider{Key: udptest.Key, GiveUp: partitionGiveUp, KeepAlive: 200 * time.Millisecond}
		p := newPipe(t, udptest.New(seed, udptest.RandomLink(rng), simdgram.RandomOptions(rng), provider))
		p.connect()
		var d *nic.Descriptor
		if rng.IntN(2) == 0 {
			d = p.post([]nic.Op{nic.OpRDMAWrite, nic.OpRDMARead}[rng.IntN(2)])
			for range rng.IntN(100) {
				p.w.Step()
				p.poll()
			}
		}
		cut, from, to := p.w.Clock(), p.a.host, p.b.host
		if rng.IntN(2) == 0 {
			from, to = to, from
		}
		p.w.Net.CutOneWay(from, to)
		if rng.IntN(2) == 0 {
			p.w.Net.CutOneWay(to, from)
		}
		p.until("the end", func() bool { return p.a.over && p.b.over })
		require.ErrorIs(t, p.a.err, nic.ErrTimeout)
		require.ErrorIs(t, p.b.err, nic.ErrTimeout)
		assert.Less(t, p.w.Clock()-cut, 2*partitionGiveUp+time.Second)
		if d != nil {
			assert.NotEqual(t, nic.StatusPending, d.Status, "it came back")
		}
		p.forgotten()
	})
}

const restartSeedsMax = 60

// TestSimRestart: a host that was restarted tells its peers at once that it no longer
// knows their connections, so that they need not wait for silence; and it accepts new
// ones.
func TestSimRestart(t *testing.T) {
	sim.RunAtMost(t, restartSeedsMax, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 61))
		p := newPipe(t, udptest.New(seed, udptest.RandomLink(rng), simdgram.Options{}, udp.Provider{Key: udptest.Key, GiveUp: 20 * time.Second}))
		p.connect()
		op, soon := nic.OpRDMAWrite, time.Second
		if rng.IntN(2) == 0 {
			// A side that waits for an answer sends nothing until KeepAlive.
			op, soon = nic.OpRDMARead, udp.KeepAlive+time.Second
		}
		d := p.post(op)
		for steps := rng.IntN(100); steps > 0 && d.Status == nic.StatusPending; steps-- {
			p.w.Step()
			p.poll()
		}
		if d.Status != nic.StatusPending { // it is done already
			d = p.post(op)
		}
		old := p.b
		p.w.Crash(old.name)
		require.NoError(t, old.dev.Close())
		p.b = p.open(old.name)
		start := p.w.Clock()
		p.until("the end", func() bool { return p.a.over })
		require.ErrorIs(t, p.a.err, nic.ErrPeerDied)
		assert.Equal(t, nic.StatusFlushed, d.Status, "it failed, once")
		assert.Less(t, p.w.Clock()-start, soon)

		require.NoError(t, p.a.port.Close())
		p.openPort(p.a)
		p.connect()
		p.move(nic.OpRDMAWrite)
		p.part()
	})
}

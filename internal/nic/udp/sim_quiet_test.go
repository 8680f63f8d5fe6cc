package udp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// lossy is as bad as a path may be.
var lossy = sim.LinkOptions{DelayMin: 30 * time.Microsecond, DelayMean: 200 * time.Microsecond, Loss: 0.3}

const quietSeedsMax = 20

// TestSimQuietConnectionStays: a lost keep-alive, or a lost answer, does not end a
// connection on which nothing is sent.
func TestSimQuietConnectionStays(t *testing.T) {
	const quiet = time.Minute
	sim.RunAtMost(t, quietSeedsMax, func(t *testing.T, seed uint64) {
		p := newPipe(t, udptest.New(seed, lossy, simdgram.Options{}, udp.Provider{Insecure: true}))
		p.connect()
		start := p.w.Clock()
		p.until("a while", func() bool { return p.w.Clock() > start+quiet-time.Second || p.a.over || p.b.over })
		assert.False(t, p.a.over, "%v: %v", p.w.Clock(), p.a.err)
		assert.False(t, p.b.over, "%v: %v", p.w.Clock(), p.b.err)
		p.move(nic.OpRDMAWrite)
		p.part()
	})
}

// TestSimNobodyLooksForAWhile: two sides that were not polled for longer than silence
// may last have received nothing from each other, and ask before they give up.
func TestSimNobodyLooksForAWhile(t *testing.T) {
	sim.RunAtMost(t, quietSeedsMax, func(t *testing.T, seed uint64) {
		p := newPipe(t, udptest.New(seed, lan, simdgram.Options{}, udp.Provider{Insecure: true}))
		p.connect()
		p.w.Sim.RunFor(3 * udp.GiveUp)
		p.move(nic.OpRDMAWrite)
		assert.NoError(t, p.b.err)
		p.part()
	})
}

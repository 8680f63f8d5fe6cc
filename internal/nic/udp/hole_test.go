package udp_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestABusyPeerIsNoBlackHole: a peer that must share its core answers late, on one lane
// sooner than on the other. That must not change the path's MTU.
func TestABusyPeerIsNoBlackHole(t *testing.T) {
	const writes = 300
	sim.RunAtMost(t, 20, func(t *testing.T, seed uint64) {
		link := sim.LinkOptions{DelayMin: 30 * time.Microsecond, DelayMean: 50 * time.Microsecond, Loss: 0.01}
		w := udptest.New(seed, link, simdgram.Options{MTUBytes: 8972}, udp.Provider{Insecure: true})
		rng := rand.New(rand.NewPCG(seed, 51))
		a, b := newSide(t, w, w.NewName()), newSide(t, w, w.NewName())
		a.dial(b)
		within(t, time.Second, "the connection", func() bool { return a.up && b.up }, a, b)
		mem := make([]byte, 32<<10)
		h, err := b.d.Register(mem, nic.AccessRemoteWrite, sideTag)
		require.NoError(t, err)
		over := 0
		a.done = func(d *nic.Descriptor) {
			require.Equal(t, nic.StatusSuccess, d.Status)
			over++
		}
		for range writes {
			d := &nic.Descriptor{
				Op: nic.OpRDMAWrite, Segments: []nic.Segment{{Data: make([]byte, len(mem))}},
				Remote: nic.Remote{Addr: addrOf(mem), Handle: h},
			}
			before := over
			require.True(t, a.post(d))
			away := w.Clock() + time.Duration(rng.IntN(8000))*time.Microsecond
			within(t, time.Second, "time", func() bool { return w.Clock() >= away }, a)
			within(t, time.Second, "the write", func() bool { return over > before }, a, b)
		}
		require.Zero(t, a.d.Stats().Holes)
	})
}

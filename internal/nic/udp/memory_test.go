package udp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestHandlesAreNotGuessed: the first handle differs between devices; otherwise any
// peer would know where to write.
func TestHandlesAreNotGuessed(t *testing.T) {
	handles := map[nic.Handle]bool{}
	for seed := range uint64(100) {
		w := udptest.New(seed, sim.LinkOptions{DelayMin: time.Microsecond}, simdgram.Options{}, udp.Provider{Insecure: true})
		h, err := newSide(t, w, w.NewName()).d.Register(make([]byte, 8), 0, sideTag)
		require.NoError(t, err)
		require.NotZero(t, h)
		handles[h] = true
	}
	require.Len(t, handles, 100)
}

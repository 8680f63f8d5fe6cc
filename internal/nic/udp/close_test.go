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

// TestCloseInOrder: a closing device sends farewells to its peers in the order in which
// its ports were opened, so that a seed replays this, too.
func TestCloseInOrder(t *testing.T) {
	const peers = 8
	w := udptest.New(1, sim.LinkOptions{DelayMin: time.Microsecond}, simdgram.Options{}, udp.Provider{Insecure: true})
	d, err := w.Open(nic.Config{Listen: w.NewName(), Clock: w.Clock})
	require.NoError(t, err)
	var sides []*side
	var want, got []string
	up := 0
	for range peers {
		to := newSide(t, w, w.NewName())
		sides, want = append(sides, to), append(want, to.host().String())
		port, err := d.OpenPort(nic.PortAttrs{Reliability: nic.ReliableReception, RecvDepth: 1, SendDepth: 1}, nil)
		require.NoError(t, err)
		require.NoError(t, port.Connect(to.name, nil, 0))
	}
	within(t, time.Second, "all are connected", func() bool {
		var events [peers]nic.Event
		for range d.Poll(events[:]) {
			up++
		}
		return up == peers
	}, sides...)
	for until := w.Clock() + 10*time.Millisecond; w.Clock() < until; {
		d.Poll(nil)
		turn(sides...)
	}
	w.Net.SetFilter(func(d simdgram.Datagram) bool {
		got = append(got, d.To.Addr().String())
		return true
	})
	require.NoError(t, d.Close())
	require.Equal(t, want, got)
}

package udp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestResetOnBothLanes: a device that has forgotten a connection answers with a RESET on either
// lane.
func TestResetOnBothLanes(t *testing.T) {
	for lane, op := range []nic.Op{nic.OpRDMARead, nic.OpRDMAWrite} {
		p := newPipe(t, udptest.New(1, lan, simdgram.Options{}, udp.Provider{Key: udptest.Key, GiveUp: time.Minute, KeepAlive: -1}))
		p.connect()
		p.w.Net.SetFilter(func(simdgram.Datagram) bool { return false })
		p.b.port.Disconnect()
		p.until("nobody listens any more", func() bool { return p.b.dev.Stats().Conns == 0 })
		p.w.Net.SetFilter(func(d simdgram.Datagram) bool {
			return wire.Kind(d.Payload[0]) != wire.KindPacket || d.Payload[1] == byte(lane)
		})
		start := p.w.Clock()
		p.post(op)
		p.until("the end", func() bool { return p.a.over })
		require.ErrorIs(t, p.a.err, nic.ErrPeerDied, "lane %d", lane)
		assert.Less(t, p.w.Clock()-start, 10*time.Millisecond, "lane %d", lane)
	}
}

// TestRestartWhereThePathIsNarrow: a device that was restarted has another port for its
// data lane. A peer that sends bulk to the old port asks on the other lane what is
// wrong.
func TestRestartWhereThePathIsNarrow(t *testing.T) {
	p := newPipe(t, udptest.New(1, lan, simdgram.Options{}, udp.Provider{Key: udptest.Key, GiveUp: time.Minute, PacketBytes: dgram.PayloadMin}))
	p.connect()
	p.w.Crash(p.b.name)
	require.NoError(t, p.b.dev.Close())
	p.b = p.open(p.b.name)
	start := p.w.Clock()
	p.post(nic.OpRDMAWrite)
	p.until("the end", func() bool { return p.a.over })
	require.ErrorIs(t, p.a.err, nic.ErrPeerDied)
	assert.Less(t, p.w.Clock()-start, time.Second)
}

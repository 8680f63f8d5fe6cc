package udp_test

import (
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

// A counted pair is two devices with one connection, for tests of the counts.
type counted struct {
	t     *testing.T
	w     *udptest.World
	d     [2]nic.Device
	p     [2]nic.Port
	up    int // ports that are connected
	down  int // and that no longer are
	recvs int // messages that arrived
}

const countedDelay = 100 * time.Microsecond

func newCounted(t *testing.T, loss float64) *counted {
	link := sim.LinkOptions{DelayMin: countedDelay, DelayMean: countedDelay, Loss: loss}
	c := &counted{t: t, w: udptest.New(1, link, simdgram.Options{}, udp.Provider{Insecure: true})}
	var err error
	for i := range c.d {
		c.d[i], err = c.w.Open(nic.Config{Listen: c.w.NewName(), Clock: c.w.Clock})
		require.NoError(t, err)
	}
	return c
}

// connect makes a connection with new ports, with room for recvs messages.
func (c *counted) connect(recvs int) {
	c.up, c.down, c.recvs = 0, 0, 0
	for i, d := range c.d {
		var err error
		c.p[i], err = d.OpenPort(nic.PortAttrs{
			Reliability: nic.ReliableReception, RecvDepth: recvs, SendDepth: recvs,
		}, nil)
		require.NoError(c.t, err)
	}
	for range recvs {
		require.NoError(c.t, c.p[1].PostRecv(&nic.Descriptor{Op: nic.OpRecv, Flags: nic.FlagLoan}))
	}
	require.NoError(c.t, c.p[0].Connect(c.d[1].LocalAddr(), nil, 0))
	c.until(func() bool { return c.up == 2 })
}

// until lets time pass until done.
func (c *counted) until(done func() bool) {
	var out [32]nic.Event
	for !done() {
		require.True(c.t, c.w.Step(), "it never is so")
		for _, d := range c.d {
			for _, e := range out[:d.Poll(out[:])] {
				switch e.Kind {
				case nic.EventConnectRequest:
					require.NoError(c.t, c.d[1].Accept(e.Conn.Request, c.p[1]))
				case nic.EventConnected:
					c.up++
				case nic.EventDisconnected:
					c.down++
				case nic.EventRecv:
					if e.Desc.Status == nic.StatusSuccess {
						c.recvs++
					}
				}
			}
		}
	}
}

// send sends messages of a size, and waits until all have arrived.
func (c *counted) send(messages, bytes int) {
	for range messages {
		done, err := c.p[0].PostSend(&nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: make([]byte, bytes)}}})
		require.NoError(c.t, err)
		require.False(c.t, done)
	}
	before := c.recvs
	c.until(func() bool { return c.recvs == before+messages })
}

// disconnect ends the connection, and waits until both sides have forgotten it.
func (c *counted) disconnect() {
	c.p[0].Disconnect()
	end := c.w.Clock() + 20*time.Second
	c.until(func() bool { return c.down == 2 && c.w.Clock() > end })
	for _, d := range c.w.Devices() {
		require.Zero(c.t, d.Stats().Conns)
	}
	for _, p := range c.p {
		require.NoError(c.t, p.Close())
	}
}

func TestStatsOfALinkThatLosesNothing(t *testing.T) {
	c := newCounted(t, 0)
	assert.Zero(t, nic.LinkStatsOf(c.d[0]))
	c.connect(32)
	assert.Zero(t, nic.LinkStatsOf(c.p[0]).SegmentsSent)
	c.send(20, 100)
	c.until(func() bool { return nic.LinkStatsOf(c.p[0]).AcksReceived > 0 })
	sent, got := nic.LinkStatsOf(c.p[0]), nic.LinkStatsOf(c.p[1])
	assert.EqualValues(t, 20, sent.SegmentsSent)
	assert.EqualValues(t, 20, got.SegmentsReceived)
	assert.Zero(t, sent.Retransmitted+sent.TimedOut+sent.Spurious+got.Duplicates+got.Refused)
	assert.Positive(t, got.AcksSent)
	assert.Positive(t, sent.RoundTrips)
	for _, trip := range []time.Duration{sent.RoundTripP50, sent.RoundTripP99, sent.RoundTripP999} {
		assert.InEpsilon(t, 2*countedDelay, trip, 0.6)
	}
	packets := nic.PacketStatsOf(c.d[0])
	assert.Less(t, packets.Sent, sent.SegmentsSent, "small segments share packets")
	assert.Greater(t, packets.BytesSent, uint64(20*100))
	assert.Positive(t, packets.Received)
	assert.Positive(t, packets.BytesReceived)
}

func TestStatsOutliveTheirConnections(t *testing.T) {
	c := newCounted(t, 0.1)
	c.connect(32)
	c.send(20, 8000)
	first := nic.LinkStatsOf(c.p[0])
	assert.Positive(t, first.Retransmitted, "packets are lost")
	assert.Equal(t, nic.LinkStatsOf(c.d[0]), first, "a device with one connection")
	c.disconnect()
	port, device := nic.LinkStatsOf(c.p[0]), nic.LinkStatsOf(c.d[0])
	assert.GreaterOrEqual(t, port.SegmentsSent, first.SegmentsSent, "the port keeps what it had")
	assert.GreaterOrEqual(t, device.SegmentsSent, port.SegmentsSent+1, "and the device the farewell as well")
	assert.GreaterOrEqual(t, device.RoundTrips, port.RoundTrips)
	assert.Positive(t, device.RoundTripP99)

	c.connect(32)
	assert.Less(t, nic.LinkStatsOf(c.p[0]).SegmentsSent, port.SegmentsSent, "a new port begins anew")
	c.send(20, 8000)
	assert.GreaterOrEqual(t, nic.LinkStatsOf(c.d[0]).SegmentsSent, device.SegmentsSent+nic.LinkStatsOf(c.p[0]).SegmentsSent)
	last := nic.LinkStatsOf(c.d[0])
	for _, d := range c.d {
		require.NoError(t, d.Close())
	}
	assert.GreaterOrEqual(t, nic.LinkStatsOf(c.d[0]).SegmentsSent, last.SegmentsSent, "counts outlive the device")
	assert.GreaterOrEqual(t, nic.PacketStatsOf(c.d[0]).Sent, last.SegmentsSent)
}

package udp_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestAWriteTakesOneRoundTrip: the other side's owner does not notice a write, so its
// ack must not wait there for a packet that could carry it.
func TestAWriteTakesOneRoundTrip(t *testing.T) {
	const delay, writes = 100 * time.Microsecond, 20
	// An ack that is held would take 10 ms.
	w := udptest.New(1, sim.LinkOptions{DelayMin: delay}, simdgram.Options{}, udp.Provider{Insecure: true, AckDelay: 10 * time.Millisecond})
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
	for _, size := range []int{1, 100, 5000, len(mem)} {
		for range writes {
			d := &nic.Descriptor{
				Op: nic.OpRDMAWrite, Segments: []nic.Segment{{Data: make([]byte, size)}},
				Remote: nic.Remote{Addr: addrOf(mem), Handle: h},
			}
			start, before := w.Clock(), over
			require.True(t, a.post(d))
			within(t, time.Second, "the write", func() bool { return over > before }, a, b)
			assert.Less(t, w.Clock()-start, 4*delay, "%d bytes", size)
		}
	}
}

// A napping device supports sleeping, so it reads an idle data lane only now and then.
type napping struct {
	dgram.Device
	dgram.Sleeper // not used, but for Wake
}

func (napping) Wake() {}

// TestAnswersThatWaitAreNotLate: a device that was not polled for long handles the acks
// that arrived meanwhile before it runs timers.
func TestAnswersThatWaitAreNotLate(t *testing.T) {
	for turn := range udp.DataEvery {
		w := udptest.New(1, sim.LinkOptions{DelayMin: 100 * time.Microsecond}, simdgram.Options{}, udp.Provider{Insecure: true})
		c := &counted{t: t, w: w}
		name := w.NewName()
		var err error
		c.d[0], err = udp.Provider{Insecure: true, CloseDrain: -1, Datagrams: func() (dgram.Device, error) {
			return napping{Device: w.Net.Host(netip.MustParseAddrPort(name).Addr()).Open()}, nil
		}}.Open(nic.Config{Listen: name, Clock: w.Clock})
		require.NoError(t, err)
		c.d[1], err = w.Open(nic.Config{Listen: w.NewName(), Clock: w.Clock})
		require.NoError(t, err)
		c.connect(2)
		c.send(1, 2000)
		c.until(func() bool { return c.w.Clock() > time.Second })

		_, err = c.p[0].PostSend(&nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: make([]byte, 2000)}}})
		require.NoError(t, err)
		poll := func(d nic.Device, n int) {
			var out [8]nic.Event
			for range n {
				d.Poll(out[:])
			}
		}
		poll(c.d[0], udp.HotPolls+turn)
		before := nic.LinkStatsOf(c.d[0])
		for range 5 { // the other side acks, and this one does not poll
			w.Sim.RunFor(time.Millisecond)
			poll(c.d[1], 1)
		}
		poll(c.d[0], udp.DataEvery)
		after := nic.LinkStatsOf(c.d[0])
		assert.Greater(t, after.AcksReceived, before.AcksReceived)
		assert.Zero(t, after.TimedOut-before.TimedOut, "after %d looks", turn)
		assert.Zero(t, after.Retransmitted-before.Retransmitted)
	}
}

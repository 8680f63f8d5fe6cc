package vipltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

var errorTests = []Test{
	{"ErrorHandling/NoReceivePosted", testNoReceive},
	{"ErrorHandling/ReceiveTooShort", testTooShort},
	{"ErrorHandling/SendTooLong", testTooLong},
	{"ErrorHandling/TooManySegments", testTooManySegments},
	{"ErrorHandling/QueueFull", testQueueFull},
	{"ErrorHandling/OneBrokenConnectionLeavesOthersAlone", testOthersUnharmed},
}

// broken waits until a reliable connection broke on both sides.
func (p *pair) broken() {
	p.Helper()
	require.Error(p, p.event(p.a, vipl.EventDisconnected).Err)
	require.Error(p, p.event(p.b, vipl.EventDisconnected).Err)
	assert.Equal(p, vipl.Error, p.a.vi.State())
	assert.Equal(p, vipl.Error, p.b.vi.State())
}

func testNoReceive(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	d := vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 8))
	done := p.send(p.a, d)
	p.broken()
	if !done {
		// Its descriptor may have been sent before the connection broke, or not.
		assert.Contains(t, []nic.Status{nic.StatusSuccess, nic.StatusNoDescriptor, nic.StatusFlushed, nic.StatusTransportError}, p.ended(p.a, d))
	}
	assert.Equal(t, uint64(1), p.a.n.SystemInfo().ConnectionsLost)
}

func testTooShort(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	pattern(p.b.mem.Data, 1)
	r := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(0, 100))
	p.recv(p.b, r)
	d := vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 101))
	done := p.send(p.a, d)
	assert.Equal(t, nic.StatusLengthError, p.ended(p.b, r))
	require.ErrorIs(t, vipl.Err(r), vipl.ErrDescriptor)
	assert.Equal(t, "VIP_DESCRIPTOR_ERROR", vipl.StatusName(vipl.Err(r)))
	if !done {
		p.ended(p.a, d)
	}
	p.settle()
	assert.Equal(t, patterned(memBytes, 1)[100:], p.b.mem.Data[100:], "nothing is written behind the receive")
	// The Architecture ends the connection of a reliable VI; a provider may
	// also carry on, but both sides must see the same.
	assert.Equal(t, p.a.vi.State(), p.b.vi.State())
	if p.a.vi.State() == vipl.Error {
		p.broken()
	}
}

func testTooLong(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	mtu := p.a.n.Caps().MTUBytes
	if mtu >= memBytes {
		t.Skip("the NIC has no limit within reach")
	}
	r := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(0, mtu+1))
	p.recv(p.b, r)
	d := vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, mtu+1))
	done, err := false, error(nic.ErrAgain)
	p.until("room", func() bool {
		done, err = p.a.vi.PostSend(d)
		return err != nic.ErrAgain
	})
	if err != nil {
		return // refused outright: just as clear
	}
	if !done {
		p.ended(p.a, d)
	}
	assert.Equal(t, nic.StatusLengthError, d.Status)
	p.settle()
	assert.NotEqual(t, nic.StatusSuccess, r.Status, "nothing arrives")
}

func testTooManySegments(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	var segs []vipl.Segment
	for i := range p.a.n.Caps().SegmentsMax + 1 {
		segs = append(segs, p.a.mem.Segment(i*8, 8))
	}
	err := p.a.vi.PostRecv(vipl.FillRecv(&vipl.Descriptor{}, segs...))
	for err == nic.ErrAgain {
		err = p.a.vi.PostRecv(vipl.FillRecv(&vipl.Descriptor{}, segs...))
	}
	require.Error(t, err, "a receive")
	p.settle()
	assert.Equal(t, vipl.Connected, p.a.vi.State(), "nothing was accepted, nothing broke")

	d := vipl.FillSend(&vipl.Descriptor{}, segs...)
	done, err := p.a.vi.PostSend(d)
	for err == nic.ErrAgain {
		done, err = p.a.vi.PostSend(d)
	}
	if err != nil {
		return // refused outright
	}
	if !done {
		p.ended(p.a, d)
	}
	require.Error(t, vipl.Err(d), "a send")
}

func testQueueFull(t *testing.T, s Setup) {
	p := newPair(t, s, options{reliability: nic.ReliableDelivery, depth: 4})
	accepted := 0
	for range 1000 {
		err := p.b.vi.PostRecv(vipl.FillRecv(&vipl.Descriptor{Cookie: accepted}, p.b.mem.Segment(accepted*64, 64)))
		if err == nil {
			accepted++
		} else {
			require.ErrorIs(t, err, vipl.ErrAgain)
			assert.Equal(t, "VIP_ERROR_RESOURCE", vipl.StatusName(err))
		}
	}
	require.Equal(t, 4, accepted, "the queue is as deep as was asked for")
	p.connect()
	for i := range accepted {
		p.send(p.a, vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, i+1)))
	}
	p.until("all to arrive", func() bool { return len(p.b.got) == accepted })
	for i, c := range p.b.got {
		assert.Equal(t, i, c.Desc.Cookie, "in the order of posting")
		assert.Equal(t, i+1, c.Desc.Length)
	}
}

func testOthersUnharmed(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	healthy, served := p.a.vi, p.b.vi
	o := options{reliability: nic.ReliableDelivery, depth: 4}
	p.a.vi, p.b.vi = p.newVI(p.a, o), p.newVI(p.b, o)
	p.connect()
	p.send(p.a, vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 8)))
	p.broken()
	p.a.got, p.b.got = nil, nil
	p.a.vi, p.b.vi = healthy, served
	r := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(0, 64))
	p.recv(p.b, r)
	p.send(p.a, vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 8)))
	assert.Equal(t, nic.StatusSuccess, p.ended(p.b, r))
}

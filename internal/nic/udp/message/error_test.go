package message

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// post posts a send on side 0.
func (p *pair) post(d *nic.Descriptor) *nic.Descriptor {
	_, err := p.sides[0].q.PostSend(d)
	require.NoError(p, err)
	return d
}

// broke checks that both sides know that the connection is over, and flushes them.
func (p *pair) broke(want error) {
	for _, side := range p.sides {
		require.ErrorIs(p, side.q.Err(), want)
		side.q.Flush(nic.StatusFlushed)
	}
	p.run()
	for _, side := range p.sides {
		assert.True(p, side.q.Left())
	}
}

// once delivers everything under way a single time, without retransmission.
func (p *pair) once() {
	for i := range p.sides {
		for lane := range Lanes {
			for p.emit(i, lane, 1000) {
			}
		}
	}
	for n := len(p.flights); n > 0; n-- {
		p.land(0, false)
	}
	for len(p.acks) > 0 {
		p.ack(0)
	}
}

func TestNoReceive(t *testing.T) {
	for _, op := range []nic.Op{nic.OpSend, nic.OpRDMAWrite} {
		p := plainPair(t, nic.ReliableReception)
		require.NoError(t, p.sides[1].q.PostRecv(recv(make([]byte, 8))))
		first := p.post(send([]byte("hello")))
		d := rdma(op, 0, make([]byte, 8))
		d.Flags = nic.FlagImmediate
		p.post(d)
		last := p.post(send(nil))
		p.once()
		p.once()
		p.broke(nic.ErrProtocol)
		assert.Equal(t, []*nic.Descriptor{first, d, last}, p.all(0))
		assert.Equal(t, nic.StatusSuccess, first.Status, "both sides agree on what was delivered")
		assert.Equal(t, nic.StatusNoDescriptor, d.Status)
		assert.Equal(t, nic.StatusFlushed, last.Status)
		got := p.all(1)
		require.Len(t, got, 1)
		assert.Equal(t, nic.StatusSuccess, got[0].Status)
	}
}

func TestTooLongForTheReceive(t *testing.T) {
	for _, size := range []int{101, 2500} {
		p := plainPair(t, nic.ReliableReception)
		room := make([]byte, 200)
		r := recv(room[:100])
		require.NoError(t, p.sides[1].q.PostRecv(r))
		d := p.post(send(make([]byte, size)))
		for i := range room {
			room[i] = 1
		}
		p.once()
		p.once()
		p.broke(nic.ErrProtocol)
		assert.Equal(t, nic.StatusLengthError, d.Status)
		assert.Equal(t, nic.StatusLengthError, r.Status)
		assert.Zero(t, r.Length)
		assert.NotContains(t, room, byte(0), "nothing was written")
	}
}

func TestReceiveLosesItsMemory(t *testing.T) {
	p := plainPair(t, nic.ReliableReception)
	r := recv(make([]byte, 8))
	r.Segments[0].Handle = localHandle
	require.NoError(t, p.sides[1].q.PostRecv(r))
	r.Segments[0].Handle = 5 // as if it were withdrawn
	d := p.post(send(make([]byte, 8)))
	p.once()
	p.once()
	p.broke(nic.ErrProtocol)
	assert.Equal(t, nic.StatusProtectionError, r.Status)
	assert.Equal(t, nic.StatusProtectionError, d.Status)
}

func TestRefusedRDMA(t *testing.T) {
	for _, remote := range []nic.Remote{
		{Addr: regionAddr, Handle: 8}, {Addr: regionAddr - 1, Handle: 7}, {Addr: regionAddr + 1<<17 - 63, Handle: 7}, {Addr: ^uint64(0) - 8, Handle: 7},
	} {
		p := plainPair(t, nic.ReliableDelivery)
		d := rdma(nic.OpRDMAWrite, 0, make([]byte, 64))
		d.Remote = remote
		p.post(d)
		p.once()
		p.once()
		p.broke(nic.ErrProtocol)
		assert.Equal(t, nic.StatusRDMAError, d.Status)

		p = plainPair(t, nic.ReliableDelivery)
		d = rdma(nic.OpRDMARead, 0, make([]byte, 64))
		d.Remote = remote
		p.post(d)
		next := p.post(rdma(nic.OpRDMARead, 0, make([]byte, 64)))
		p.run()
		assert.Equal(t, []*nic.Descriptor{d, next}, p.all(0))
		assert.Equal(t, nic.StatusRDMAError, d.Status)
		assert.Equal(t, nic.StatusSuccess, next.Status, "a refused read costs the connection nothing")
		assert.NoError(t, p.sides[0].q.Err())
	}
}

// TestMemoryWithdrawn: memory goes while it is read or written.
func TestMemoryWithdrawn(t *testing.T) {
	p := plainPair(t, nic.ReliableDelivery)
	d := p.post(rdma(nic.OpRDMARead, 0, make([]byte, 5000)))
	p.emit(0, LanePriority, 1000)
	p.land(0, false)
	p.emit(1, LaneData, 1000)
	p.emit(1, LaneData, 1000)
	p.sides[1].mem.closed = true
	p.land(1, false)
	lost := p.flights[0]
	p.flights = nil
	p.put(lost) // it is retransmitted, and there is nothing to send
	assert.Equal(t, byte(wire.SegmentReadRefused), p.flights[0].bytes[0])
	p.run()
	assert.Equal(t, nic.StatusRDMAError, d.Status)
	assert.Zero(t, p.sides[0].q.islands)
	assert.Zero(t, p.sides[1].q.owing)

	p = plainPair(t, nic.ReliableDelivery)
	d = p.post(rdma(nic.OpRDMAWrite, 0, make([]byte, 5000)))
	p.emit(0, LaneData, 1000)
	p.land(0, false)
	p.sides[1].mem.closed = true
	p.once()
	p.once()
	p.broke(nic.ErrProtocol)
	assert.Equal(t, nic.StatusRDMAError, d.Status)
}

func TestUnreliableGoesOn(t *testing.T) {
	p := plainPair(t, nic.Unreliable)
	p.post(send([]byte("nobody hears")))
	big := p.post(send(make([]byte, 2500)))
	bad := rdma(nic.OpRDMAWrite, 0, make([]byte, 2500))
	bad.Remote.Handle = 3
	p.post(bad)
	lone := rdma(nic.OpRDMAWrite, 0, []byte("data"))
	lone.Flags = nic.FlagImmediate
	p.post(lone)
	p.run()
	for _, d := range []*nic.Descriptor{big, bad, lone} {
		assert.Equal(t, nic.StatusSuccess, d.Status)
	}
	assert.Equal(t, uint64(4), p.sides[1].q.Stats().Dropped)
	assert.Equal(t, "data", string(p.sides[1].mem.region[:4]))
	short, r := recv(make([]byte, 4)), recv(make([]byte, 8))
	require.NoError(t, p.sides[1].q.PostRecv(short))
	require.NoError(t, p.sides[1].q.PostRecv(r))
	p.post(send(make([]byte, 2500)))
	p.post(send([]byte("hello")))
	p.run()
	assert.Equal(t, []*nic.Descriptor{short, r}, p.all(1))
	assert.Equal(t, nic.StatusLengthError, short.Status)
	assert.Equal(t, nic.StatusSuccess, r.Status)
	assert.Equal(t, "hello", string(r.Segments[0].Data[:r.Length]))
	_, err := p.sides[0].q.PostSend(rdma(nic.OpRDMARead, 0, nil))
	require.ErrorContains(t, err, "reliable port")
}

func TestPostErrors(t *testing.T) {
	p := plainPair(t, nic.ReliableDelivery)
	q := p.sides[0].q
	many := make([]nic.Segment, testLimits.SegmentsMax+1)
	for _, d := range []*nic.Descriptor{{Op: nic.OpRecv}, {Op: nic.OpRDMARead + 1}, {Segments: many}} {
		_, err := q.PostSend(d)
		require.Error(t, err)
	}
	for _, d := range []*nic.Descriptor{{}, {Op: nic.OpRecv, Segments: many}, {Op: nic.OpRecv, Segments: []nic.Segment{{Handle: 3}}}} {
		require.Error(t, q.PostRecv(d))
	}
	for _, c := range []struct {
		d      *nic.Descriptor
		status nic.Status
	}{
		{send(make([]byte, testLimits.MTUBytes+1)), nic.StatusLengthError},
		{rdma(nic.OpRDMAWrite, 0, make([]byte, testLimits.RDMABytesMax+1)), nic.StatusLengthError},
		{&nic.Descriptor{Segments: []nic.Segment{{Handle: 3}}}, nic.StatusProtectionError},
	} {
		done, err := q.PostSend(c.d)
		require.NoError(t, err)
		assert.True(t, done)
		assert.Equal(t, c.status, c.d.Status)
	}
	for lane := range Lanes {
		assert.False(t, q.Waiting(lane), "nothing was posted")
	}
	q.Flush(nic.StatusFlushed)
	_, err := q.PostSend(send(nil))
	require.ErrorIs(t, err, nic.ErrNotConnected)
	require.ErrorIs(t, q.PostRecv(recv(nil)), nic.ErrNotConnected)
	assert.Panics(t, func() { New(Config{}) })
}

// TestLateData: after the end no message is reported as delivered.
func TestLateData(t *testing.T) {
	p := plainPair(t, nic.ReliableReception)
	require.NoError(t, p.sides[1].q.PostRecv(recv(make([]byte, 8))))
	assert.Equal(t, 1, p.sides[1].q.Receives())
	d := p.post(send([]byte("late")))
	p.sides[1].q.Leave()
	p.once()
	p.once()
	assert.Equal(t, nic.StatusPending, d.Status)
	require.ErrorIs(t, p.sides[0].q.Err(), nic.ErrClosed)
	p.sides[0].q.Flush(nic.StatusFlushed)
	assert.Equal(t, nic.StatusFlushed, d.Status)
	assert.True(t, p.sides[1].q.Left())
}

func TestAnswersAreBounded(t *testing.T) {
	p := newPair(t, 1, nic.PortAttrs{Reliability: nic.ReliableDelivery, RecvDepth: 4, SendDepth: 1000})
	for range AnswersMax + 50 {
		p.post(rdma(nic.OpRDMARead, 0, make([]byte, 10)))
	}
	require.NoError(t, p.sides[1].q.PostRecv(recv(make([]byte, 8))))
	p.post(send([]byte("behind")))
	for p.emit(0, LanePriority, 1000) {
	}
	for len(p.flights) > 0 {
		p.land(0, false)
	}
	assert.Equal(t, AnswersMax, p.sides[1].q.owing)
	assert.Empty(t, p.all(1), "its turn has not come")
	p.run()
	assert.Len(t, p.all(0), AnswersMax+50)
	assert.Len(t, p.all(1), 1)
}

// TestIdle: memory that traffic needed is freed.
func TestIdle(t *testing.T) {
	p := plainPair(t, nic.ReliableDelivery)
	q := p.sides[1].q
	for range 40 {
		require.NoError(t, q.PostRecv(lentRecv()))
		p.post(send(make([]byte, 90)))
	}
	for p.emit(0, LanePriority, 60) {
	}
	for len(p.flights) > 0 {
		p.land(len(p.flights)-1, false)
	}
	assert.GreaterOrEqual(t, len(q.ring), 40)
	got := p.all(1)
	assert.Len(t, got, 40)
	assert.Equal(t, 40, q.loans.count())
	require.NoError(t, q.PostRecv(got[0]))
	assert.Equal(t, 39, q.loans.count())
	q.Idle()
	assert.Nil(t, q.ring)
	assert.Len(t, q.recvs.ring, ringMin)
	assert.Equal(t, uint64(40), q.Stats().Received)
	for _, d := range got[1:] {
		require.NoError(t, q.PostRecv(d))
	}
	q.Flush(nic.StatusFlushed)
	q.Idle()
	assert.Nil(t, q.loans.all)
	assert.Nil(t, q.recvs.ring)
}

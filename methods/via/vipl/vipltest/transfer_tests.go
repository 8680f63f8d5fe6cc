package vipltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

var transferTests = []Test{
	{"SendReceive/Sizes", testSizes},
	{"SendReceive/GatherAndScatter", testGatherScatter},
	{"SendReceive/ImmediateData", testImmediate},
	{"SendReceive/Loan", testLoan},
	{"SendReceive/BothWays", testBothWays},
	{"SendReceive/ManyVIs", testManyVIs},
}

func testSizes(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	mtu := min(p.a.n.Caps().MTUBytes, memBytes)
	for i, size := range []int{0, 1, 7, 8, 55, 56, 57, 64, 1000, mtu - 1, mtu} {
		guard := p.b.mem.Data
		pattern(guard, 99)
		r := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(0, mtu))
		p.recv(p.b, r)
		d := vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, size))
		pattern(d.Segments[0].Data, i)
		if !p.send(p.a, d) {
			require.Equal(t, nic.StatusSuccess, p.ended(p.a, d), "size %d", size)
		}
		require.Equal(t, nic.StatusSuccess, d.Status)
		require.Equal(t, nic.StatusSuccess, p.ended(p.b, r), "size %d", size)
		require.NoError(t, vipl.Err(r))
		assert.Equal(t, size, r.Length)
		assert.Nil(t, r.Data, "without FlagLoan the data is in the segments")
		assert.Equal(t, patterned(size, i), guard[:size])
		assert.Equal(t, patterned(memBytes, 99)[size:], guard[size:], "nothing is written behind the message")
		_, immediate := vipl.Immediate(r)
		assert.False(t, immediate)
	}
}

func testGatherScatter(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	caps := p.a.n.Caps()
	most := min(caps.SegmentsMax, 8)
	for round := range 20 {
		var from, to []vipl.Segment
		var want []byte
		at := 0
		for range 1 + p.rng.IntN(most) {
			size := p.rng.IntN(100)
			seg := p.a.mem.Segment(at, size)
			pattern(seg.Data, round+len(from))
			want = append(want, seg.Data...)
			from = append(from, seg)
			at += size + p.rng.IntN(5)
		}
		room := 0
		for i := range most {
			size := p.rng.IntN(50)
			if i == most-1 {
				size = max(len(want)-room, 1)
			}
			to = append(to, p.b.mem.Segment(1000*i, size))
			room += size
		}
		r := vipl.FillRecv(&vipl.Descriptor{}, to...)
		p.recv(p.b, r)
		d := vipl.FillSend(&vipl.Descriptor{}, from...)
		assert.Equal(t, len(want), vipl.TotalLength(d))
		if !p.send(p.a, d) {
			p.ended(p.a, d)
		}
		require.Equal(t, nic.StatusSuccess, p.ended(p.b, r))
		assert.Equal(t, len(want), r.Length)
		assert.Equal(t, want, append([]byte(nil), payload(r)...), "round %d", round)
	}
}

func testImmediate(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	for i, size := range []int{0, 8, 500} {
		r := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(0, 600))
		p.recv(p.b, r)
		d := vipl.SetImmediate(vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, size)), 0xfeed0000+uint32(i))
		p.send(p.a, d)
		require.Equal(t, nic.StatusSuccess, p.ended(p.b, r))
		value, ok := vipl.Immediate(r)
		assert.True(t, ok)
		assert.Equal(t, 0xfeed0000+uint32(i), value)
		assert.Equal(t, size, r.Length)
	}
}

func testLoan(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	for round := range 20 {
		size := p.rng.IntN(200)
		r := vipl.FillRecvLoan(&vipl.Descriptor{}, p.b.mem.Segment(0, 256))
		p.recv(p.b, r)
		d := vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, size))
		pattern(d.Segments[0].Data, round)
		p.send(p.a, d)
		require.Equal(t, nic.StatusSuccess, p.ended(p.b, r))
		data, ok := vipl.Payload(r)
		require.True(t, ok)
		assert.Equal(t, size, r.Length)
		assert.Equal(t, patterned(size, round), append([]byte{}, data...), "lent or not, Payload finds it")
	}
}

func testBothWays(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	const each = 50
	x := newExchange(p, p.a, p.b)
	y := newExchange(p, p.b, p.a)
	p.until("both directions", func() bool {
		x.advance(each)
		y.advance(each)
		return x.done(each) && y.done(each)
	})
	x.check()
	y.check()
}

func testManyVIs(t *testing.T, s Setup) {
	p := newPair(t, s, options{entries: 1024})
	const many = 10
	var from, to [many]*vipl.VI
	o := options{reliability: nic.ReliableDelivery, depth: 4}
	for i := range many {
		from[i], to[i] = p.newVI(p.a, o), p.newVI(p.b, o)
		require.NoError(t, from[i].ConnectStart(p.b.addr(), vipl.ConnectOptions{}))
		require.NoError(t, p.event(p.b, vipl.EventRequest).Request.Accept(to[i]))
		p.event(p.a, vipl.EventConnected)
		p.event(p.b, vipl.EventConnected)
	}
	var recvs [many]*vipl.Descriptor
	for i := range many {
		recvs[i] = vipl.FillRecv(&vipl.Descriptor{Cookie: i}, p.b.mem.Segment(i*64, 64))
		p.again(func() error { return to[i].PostRecv(recvs[i]) })
	}
	for _, i := range p.rng.Perm(many) {
		d := vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(i*64, 8+i))
		pattern(d.Segments[0].Data, i)
		p.again(func() error { _, err := from[i].PostSend(d); return err })
	}
	p.until("all to arrive", func() bool { return len(p.b.got) == many })
	for _, c := range p.b.got {
		i := c.Desc.Cookie.(int)
		assert.Same(t, to[i], c.VI, "each message arrives where its VI is connected to")
		assert.Equal(t, patterned(8+i, i), payload(c.Desc))
	}
	require.NoError(t, from[3].Disconnect())
	p.event(p.a, vipl.EventDisconnected)
	assert.Same(t, to[3], p.event(p.b, vipl.EventDisconnected).VI)
	for i := range many {
		if i != 3 {
			assert.Equal(t, vipl.Connected, from[i].State(), "the others stay connected")
		}
	}
}

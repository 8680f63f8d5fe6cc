package vipltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

var queueTests = []Test{
	{"WorkQueues/DoneAndWait", testWorkQueues},
	{"WorkQueues/Notify", testQueueNotify},
	{"CompletionQueues/DoneAndWait", testCQDone},
	{"CompletionQueues/FullLosesNothing", testCQFull},
	{"CompletionQueues/Resize", testCQResize},
	{"CompletionQueues/Notify", testCQNotify},
	{"CompletionQueues/SeveralQueues", testSeveralCQs},
}

// join connects two sides without Events.
func (p *pair) join() {
	p.Helper()
	require.NoError(p, p.a.vi.ConnectStart(p.b.addr(), vipl.ConnectOptions{Timeout: patience}))
	req, err := p.b.n.ConnectWait("", patience)
	require.NoError(p, err)
	require.NoError(p, req.Accept(p.b.vi))
	p.until("the connection", func() bool { return p.a.vi.State() == vipl.Connected && p.b.vi.State() == vipl.Connected })
}

func testWorkQueues(t *testing.T, s Setup) {
	p := newPair(t, s, options{waiting: true, reliability: nic.ReliableDelivery})
	p.join()
	d, err := p.b.vi.RecvDone()
	assert.Nil(t, d)
	require.ErrorIs(t, err, vipl.ErrDescriptor, "nothing is posted")
	_, err = p.b.vi.SendWait(-1)
	require.ErrorIs(t, err, vipl.ErrDescriptor, "waiting for nothing does not hang")

	r := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(0, 64))
	p.recv(p.b, r)
	_, err = p.b.vi.RecvDone()
	require.ErrorIs(t, err, vipl.ErrNotDone)
	assert.Equal(t, "VIP_NOT_DONE", vipl.StatusName(err))
	_, err = p.b.vi.RecvWait(3 * time.Millisecond)
	require.ErrorIs(t, err, vipl.ErrTimeout)

	out := vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 32))
	if !p.send(p.a, out) {
		d, err = p.a.vi.SendWait(patience)
		require.NoError(t, err)
		assert.Same(t, out, d)
	}
	d, err = p.b.vi.RecvWait(-1)
	require.NoError(t, err)
	assert.Same(t, r, d)
	assert.True(t, p.b.vi.Query().RecvQueueEmpty)

	// A flushed descriptor comes with its error.
	p.recv(p.b, r)
	require.NoError(t, p.a.vi.Disconnect())
	d, err = p.b.vi.RecvWait(patience)
	assert.Same(t, r, d)
	require.ErrorIs(t, err, vipl.ErrDescriptor)
	var de *vipl.DescriptorError
	require.ErrorAs(t, err, &de)
	assert.Equal(t, nic.StatusFlushed, de.Status)
}

func testQueueNotify(t *testing.T, s Setup) {
	p := newPair(t, s, options{waiting: true, reliability: nic.ReliableDelivery})
	p.join()
	var got []*vipl.Descriptor
	require.NoError(t, p.b.vi.RecvNotify(func(vi *vipl.VI, d *vipl.Descriptor) {
		assert.Same(t, p.b.vi, vi)
		got = append(got, d)
	}))
	var posted []*vipl.Descriptor
	for i := range 3 {
		d := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(i*64, 64))
		posted = append(posted, d)
		p.recv(p.b, d)
	}
	for range 3 {
		p.send(p.a, vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 8)))
	}
	p.until("the handler", func() bool { return len(got) > 0 })
	p.settle()
	require.Len(t, got, 1, "a handler is called once")
	assert.Same(t, posted[0], got[0])

	var again func(vi *vipl.VI, d *vipl.Descriptor)
	again = func(vi *vipl.VI, d *vipl.Descriptor) {
		got = append(got, d)
		require.NoError(t, vi.RecvNotify(again))
	}
	require.NoError(t, p.b.vi.RecvNotify(again))
	p.until("the others", func() bool { return len(got) == 3 })
	assert.Equal(t, posted, got, "those that had completed before are not lost")
	require.NoError(t, p.b.vi.RecvNotify(nil))
}

func testCQDone(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	_, _, err := p.b.cq.Done()
	require.ErrorIs(t, err, vipl.ErrNotDone)
	_, _, err = p.b.cq.Wait(0)
	require.ErrorIs(t, err, vipl.ErrTimeout)
	_, err = p.b.vi.RecvWait(0)
	require.ErrorIs(t, err, vipl.ErrInvalidState, "this queue completes through the CQ")
	require.ErrorIs(t, p.b.vi.RecvNotify(nil), vipl.ErrInvalidState)
	require.ErrorIs(t, p.b.vi.SendNotify(nil), vipl.ErrInvalidState)
	for _, entries := range []int{0, -1, vipl.CQEntriesMax + 1} {
		_, err = p.b.n.CreateCQ(entries)
		require.ErrorIs(t, err, vipl.ErrInvalidParameter)
	}

	r := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(0, 64))
	p.recv(p.b, r)
	p.send(p.a, vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 8)))
	var vi *vipl.VI
	var q vipl.Queue
	p.until("the completion", func() bool {
		// The test's own polling may have been faster.
		if len(p.b.got) > 0 {
			vi, q = p.b.got[0].VI, p.b.got[0].Queue
			return true
		}
		vi, q, err = p.b.cq.Done()
		return err == nil
	})
	assert.Same(t, p.b.vi, vi)
	assert.Equal(t, vipl.QueueRecv, q)
	assert.Equal(t, "recv", q.String())
	if len(p.b.got) == 0 {
		d, err := vi.RecvDone()
		require.NoError(t, err)
		assert.Same(t, r, d)
	}
	_, err = p.b.vi.RecvDone()
	require.ErrorIs(t, err, vipl.ErrDescriptor, "it was the only one")
}

func testCQFull(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery, depth: 16})
	small, err := p.b.n.CreateCQ(3)
	require.NoError(t, err)
	o := options{reliability: nic.ReliableDelivery, depth: 16}
	cq := p.b.cq
	p.b.cq = small
	vi := p.newVI(p.b, o)
	p.b.cq = cq
	p.a.vi, p.b.vi = p.newVI(p.a, o), vi
	p.connect()
	const many = 12
	for i := range many {
		p.recv(p.b, vipl.FillRecv(&vipl.Descriptor{Cookie: i}, p.b.mem.Segment(i*64, 64)))
	}
	for range many {
		p.send(p.a, vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 8)))
	}
	p.settle() // polls only the other CQ, so that this one fills up
	assert.Positive(t, p.b.n.SystemInfo().CQFull)
	next := 0
	p.until("all of them", func() bool {
		var out [2]vipl.Completion
		for _, c := range out[:small.Poll(out[:])] {
			assert.Equal(t, next, c.Desc.Cookie, "in order")
			next++
		}
		return next == many
	})
}

func testCQResize(t *testing.T, s Setup) {
	p := newPair(t, s, options{waiting: true, reliability: nic.ReliableDelivery})
	cq, err := p.b.n.CreateCQ(5)
	require.NoError(t, err)
	p.b.cq = cq
	p.b.vi = p.newVI(p.b, options{reliability: nic.ReliableDelivery})
	p.b.cq = nil
	p.join()
	// Go round the ring a few times, then resize with completions waiting.
	number := 0
	move := func(count int) {
		for range count {
			p.recv(p.b, vipl.FillRecv(&vipl.Descriptor{Cookie: number}, p.b.mem.Segment(0, 64)))
			p.send(p.a, vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 8)))
			number++
		}
		p.settle()
	}
	expect := 0
	drain := func(count int) {
		for range count {
			vi, _, err := cq.Done()
			require.NoError(t, err)
			d, err := vi.RecvDone()
			require.NoError(t, err)
			assert.Equal(t, expect, d.Cookie)
			expect++
		}
	}
	for range 4 {
		move(3)
		drain(3)
	}
	move(4)
	require.ErrorIs(t, cq.Resize(3), vipl.ErrResource)
	require.ErrorIs(t, cq.Resize(0), vipl.ErrInvalidParameter)
	require.NoError(t, cq.Resize(4))
	drain(2)
	require.NoError(t, cq.Resize(100))
	move(5)
	drain(7)
	_, _, err = cq.Done()
	require.ErrorIs(t, err, vipl.ErrNotDone)
}

func testCQNotify(t *testing.T, s Setup) {
	p := newPair(t, s, options{waiting: true, reliability: nic.ReliableDelivery})
	cq, err := p.b.n.CreateCQ(8)
	require.NoError(t, err)
	p.b.cq = cq
	p.b.vi = p.newVI(p.b, options{reliability: nic.ReliableDelivery})
	p.b.cq = nil
	p.join()
	var got []vipl.Completion
	cq.Notify(func(c vipl.Completion) { got = append(got, c) })
	r := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(0, 64))
	p.recv(p.b, r)
	p.send(p.a, vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 8)))
	p.until("the handler", func() bool { return len(got) == 1 })
	assert.Equal(t, vipl.Completion{VI: p.b.vi, Desc: r, Queue: vipl.QueueRecv}, got[0])

	p.recv(p.b, r)
	p.send(p.a, vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 8)))
	p.settle()
	require.Len(t, got, 1, "a handler is called once")
	vi, _, err := cq.Wait(patience)
	require.NoError(t, err)
	assert.Same(t, p.b.vi, vi)
}

func testSeveralCQs(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	sends, err := p.a.n.CreateCQ(32)
	require.NoError(t, err)
	recvs, err := p.a.n.CreateCQ(32)
	require.NoError(t, err)
	caps := p.a.n.Caps()
	vi, err := p.a.n.CreateVI(vipl.VIAttributes{
		Reliability: nic.ReliableDelivery, Tag: p.a.tag,
		RemoteRead: caps.RDMARead, RemoteWrite: caps.RDMAWrite,
	}, sends, recvs)
	require.NoError(t, err)
	p.a.vi, p.b.vi = vi, p.newVI(p.b, options{reliability: nic.ReliableDelivery})
	p.connect()
	const many = 10
	var sent, got int
	for i := range many {
		p.recv(p.a, vipl.FillRecv(&vipl.Descriptor{}, p.a.mem.Segment(i*64, 64)))
		p.recv(p.b, vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(i*64, 64)))
		if p.send(p.a, vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(8192, 8))) {
			sent++
		}
		p.send(p.b, vipl.FillSend(&vipl.Descriptor{}, p.b.mem.Segment(8192, 8)))
	}
	p.until("both queues", func() bool {
		var out [4]vipl.Completion
		for _, c := range out[:sends.Poll(out[:])] {
			assert.Equal(t, vipl.QueueSend, c.Queue)
			assert.Equal(t, "send", c.Queue.String())
			sent++
		}
		for _, c := range out[:recvs.Poll(out[:])] {
			assert.Equal(t, vipl.QueueRecv, c.Queue)
			got++
		}
		return sent == many && got == many
	})
	assert.Empty(t, p.a.got, "nothing strays into another queue")
}

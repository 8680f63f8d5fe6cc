package vipltest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

var connectTests = []Test{
	{"ConnectionManagement/ClientServer", testClientServer},
	{"ConnectionManagement/Reject", testReject},
	{"ConnectionManagement/NotReachable", testNotReachable},
	{"ConnectionManagement/Timeout", testConnectTimeout},
	{"ConnectionManagement/CancelAnAttempt", testCancelConnect},
	{"ConnectionManagement/ReliabilityMustMatch", testReliabilityMatch},
	{"ConnectionManagement/MaxTransferMustMatch", testMaxTransferMatch},
	{"ConnectionManagement/WrongStateAndParameters", testConnectParameters},
	{"ConnectionManagement/DisconnectFlushes", testDisconnect},
	{"ConnectionManagement/GivingUpFlushes", testGivingUp},
	{"ConnectionManagement/ConnectAgain", testReconnect},
	{"ConnectionManagement/WaitingCalls", testWaitingConnect},
	{"ConnectionManagement/Crash", testCrash},
}

func testClientServer(t *testing.T, s Setup) {
	p := newPair(t, s, options{reliability: nic.ReliableDelivery})
	remote := vipl.Address{Host: p.b.n.LocalAddr(), Discriminator: "storage"}
	require.NoError(t, p.a.vi.ConnectStart(remote, vipl.ConnectOptions{Local: "client", Private: []byte("hello")}))
	assert.Equal(t, vipl.PendingConnect, p.a.vi.State())
	req := p.event(p.b, vipl.EventRequest).Request
	assert.Equal(t, vipl.Address{Host: p.a.n.LocalAddr(), Discriminator: "client"}, req.Remote)
	assert.Equal(t, "storage", req.Discriminator)
	assert.Equal(t, "hello", string(req.Private))
	assert.Equal(t, nic.ReliableDelivery, req.Attributes.Reliability)
	require.NoError(t, req.Accept(p.b.vi))
	require.ErrorIs(t, req.Reject(nil), vipl.ErrInvalidParameter, "a request is answered once")
	assert.Same(t, p.a.vi, p.event(p.a, vipl.EventConnected).VI)
	assert.Same(t, p.b.vi, p.event(p.b, vipl.EventConnected).VI)
	assert.Equal(t, remote.Host, p.a.vi.Query().Remote.Host)
	assert.Equal(t, uint64(1), p.a.n.SystemInfo().Connections)
}

func testReject(t *testing.T, s Setup) {
	p := newPair(t, s, options{reliability: nic.ReliableDelivery})
	d := vipl.FillRecv(&vipl.Descriptor{}, p.a.mem.Segment(0, 64))
	p.recv(p.a, d)
	require.NoError(t, p.a.vi.ConnectStart(p.b.addr(), vipl.ConnectOptions{}))
	req := p.event(p.b, vipl.EventRequest).Request
	require.ErrorIs(t, req.Reject(make([]byte, vipl.ReasonMax+1)), vipl.ErrInvalidParameter)
	require.NoError(t, req.Reject([]byte("not today")))
	ev := p.event(p.a, vipl.EventConnectFailed)
	require.ErrorIs(t, ev.Err, vipl.ErrReject)
	assert.Equal(t, "VIP_REJECT", vipl.StatusName(ev.Err))
	var rejected *vipl.RejectedError
	require.ErrorAs(t, ev.Err, &rejected)
	assert.Equal(t, "not today", string(rejected.Reason))
	assert.Equal(t, vipl.Idle, p.a.vi.State())
	assert.Equal(t, nic.StatusPending, d.Status, "a failed attempt leaves posted receives alone")

	p.connect()
	send := vipl.FillSend(&vipl.Descriptor{}, p.b.mem.Segment(0, 8))
	p.send(p.b, send)
	assert.Equal(t, nic.StatusSuccess, p.ended(p.a, d), "the receive posted before the first attempt still works")
}

func testNotReachable(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	nobody := vipl.Address{Host: s.Name(2)}
	err := p.a.vi.ConnectStart(nobody, vipl.ConnectOptions{Timeout: patience})
	if err == nil {
		err = p.event(p.a, vipl.EventConnectFailed).Err
	}
	require.ErrorIs(t, err, vipl.ErrNotReachable)
	assert.Equal(t, vipl.Idle, p.a.vi.State())
	p.connect()
}

func testConnectTimeout(t *testing.T, s Setup) {
	if s.Lingers && testing.Short() {
		t.Skip("soak: it takes seconds of real time; simulated NICs run it")
	}
	p := newPair(t, s, options{})
	require.NoError(t, p.a.vi.ConnectStart(p.b.addr(), vipl.ConnectOptions{Timeout: 20 * time.Millisecond}))
	ev := p.event(p.a, vipl.EventConnectFailed)
	require.ErrorIs(t, ev.Err, vipl.ErrTimeout, "b never answered")
	assert.Equal(t, vipl.Idle, p.a.vi.State())

	// An answer that comes too late joins nothing.
	for _, ev := range p.b.events {
		if ev.Kind == vipl.EventRequest && ev.Request.Accept(p.b.vi) == nil {
			p.until("the late accept to fail", func() bool { return p.b.vi.State() == vipl.Idle })
		}
	}
	p.b.events = nil
	p.connect()
}

func testCancelConnect(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	require.NoError(t, p.a.vi.ConnectStart(p.b.addr(), vipl.ConnectOptions{Timeout: patience}))
	require.NoError(t, p.a.vi.Disconnect())
	p.event(p.a, vipl.EventDisconnected)
	assert.Equal(t, vipl.Idle, p.a.vi.State())
	p.settle()
	assert.Equal(t, vipl.Idle, p.a.vi.State(), "nothing connects after that")
	p.b.events = nil
	p.connect()
}

func testReliabilityMatch(t *testing.T, s Setup) {
	p := newPair(t, s, options{reliability: nic.ReliableDelivery})
	attrs := p.b.vi.Query().Attributes
	attrs.Reliability = nic.Unreliable
	require.NoError(t, p.b.vi.SetAttributes(attrs))
	require.NoError(t, p.a.vi.ConnectStart(p.b.addr(), vipl.ConnectOptions{}))
	req := p.event(p.b, vipl.EventRequest).Request
	require.ErrorIs(t, req.Accept(p.b.vi), vipl.ErrInvalidReliability)
	require.NoError(t, req.Reject(nil), "the request can still be answered")
	require.ErrorIs(t, p.event(p.a, vipl.EventConnectFailed).Err, vipl.ErrReject)
}

func testMaxTransferMatch(t *testing.T, s Setup) {
	p := newPair(t, s, options{maxTransfer: 512})
	attrs := p.b.vi.Query().Attributes
	attrs.MaxTransfer = 256
	require.NoError(t, p.b.vi.SetAttributes(attrs))
	require.NoError(t, p.a.vi.ConnectStart(p.b.addr(), vipl.ConnectOptions{}))
	req := p.event(p.b, vipl.EventRequest).Request
	assert.Equal(t, 512, req.Attributes.MaxTransfer)
	require.ErrorIs(t, req.Accept(p.b.vi), vipl.ErrInvalidMTU)
	attrs.MaxTransfer = 512
	require.NoError(t, p.b.vi.SetAttributes(attrs))
	require.NoError(t, req.Accept(p.b.vi))
	p.event(p.a, vipl.EventConnected)
}

func testConnectParameters(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	long := string(make([]byte, vipl.DiscriminatorMax+1))
	bad := []struct {
		to   vipl.Address
		opts vipl.ConnectOptions
	}{
		{vipl.Address{}, vipl.ConnectOptions{}},
		{vipl.Address{Host: "x", Discriminator: long}, vipl.ConnectOptions{}},
		{p.b.addr(), vipl.ConnectOptions{Local: long}},
		{p.b.addr(), vipl.ConnectOptions{Private: make([]byte, vipl.PrivateMax+1)}},
		{p.b.addr(), vipl.ConnectOptions{Timeout: -1}},
	}
	for _, c := range bad {
		require.ErrorIs(t, p.a.vi.ConnectStart(c.to, c.opts), vipl.ErrInvalidParameter)
	}
	require.ErrorIs(t, p.a.vi.Disconnect(), vipl.ErrInvalidState, "Idle already")
	_, err := p.a.n.ConnectWait("", 0)
	require.ErrorIs(t, err, vipl.ErrInvalidState, "requests come as events here")
	_, err = p.a.vi.PostSend(vipl.FillSend(&vipl.Descriptor{}))
	require.ErrorIs(t, err, vipl.ErrInvalidState, "a send needs a connection")
	p.connect()
	require.ErrorIs(t, p.a.vi.ConnectStart(p.b.addr(), vipl.ConnectOptions{}), vipl.ErrInvalidState)
}

func testDisconnect(t *testing.T, s Setup) {
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	var posted [2][]*vipl.Descriptor
	for i, sd := range []*side{p.a, p.b} {
		for range 4 {
			d := vipl.FillRecv(&vipl.Descriptor{}, sd.mem.Segment(0, 64))
			p.recv(sd, d)
			posted[i] = append(posted[i], d)
		}
	}
	last := vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(1024, 8))
	pattern(last.Segments[0].Data, 5)
	if !p.send(p.a, last) {
		require.Equal(t, nic.StatusSuccess, p.ended(p.a, last))
	}
	require.NoError(t, p.a.vi.Disconnect())
	require.NoError(t, p.a.vi.Disconnect(), "asking twice is harmless")
	require.NoError(t, p.event(p.a, vipl.EventDisconnected).Err)
	assert.Equal(t, vipl.Idle, p.a.vi.State())
	require.Error(t, p.event(p.b, vipl.EventDisconnected).Err)
	assert.Equal(t, vipl.Error, p.b.vi.State())

	require.Len(t, p.a.got, 4, "every descriptor came back before the event")
	require.Len(t, p.b.got, 4)
	for i := range 4 {
		assert.Same(t, posted[0][i], p.a.got[i].Desc, "in the order of posting")
		assert.Same(t, posted[1][i], p.b.got[i].Desc)
		assert.Equal(t, nic.StatusFlushed, posted[0][i].Status)
	}
	assert.Equal(t, nic.StatusSuccess, posted[1][0].Status, "what was sent before arrives")
	assert.Equal(t, patterned(8, 5), payload(posted[1][0]))
	assert.Equal(t, nic.StatusFlushed, posted[1][1].Status)

	require.ErrorIs(t, p.b.vi.PostRecv(posted[1][0]), vipl.ErrInvalidState, "in Error")
	require.NoError(t, p.b.vi.Disconnect())
	assert.Equal(t, vipl.Idle, p.b.vi.State())
}

// testGivingUp: an attempt that its owner ends returns the posted receives at every stage: also if
// it has failed and the owner does not know yet, or if it has not reached the device.
func testGivingUp(t *testing.T, s Setup) {
	p := newPair(t, s, options{})
	recv := func(sd *side) *vipl.Descriptor {
		d := vipl.FillRecv(&vipl.Descriptor{}, sd.mem.Segment(0, 64))
		p.recv(sd, d)
		return d
	}
	giveUp := func(sd *side, d *vipl.Descriptor) {
		require.NoError(t, sd.vi.Disconnect())
		require.NoError(t, p.event(sd, vipl.EventDisconnected).Err)
		require.Len(t, sd.got, 1, "the receive came back before the event")
		require.Equal(t, nic.StatusFlushed, p.ended(sd, d))
		require.Equal(t, vipl.Idle, sd.vi.State())
	}
	for _, sd := range []*side{p.a, p.b} {
		// One of them calls, the other one waits to be called.
		d := recv(sd)
		require.NoError(t, sd.vi.ConnectPeerRequest(peerAddr(p.other(sd), "x"), vipl.ConnectOptions{Local: "x"}))
		giveUp(sd, d)
	}
	p.settle()
	for steps := range 12 {
		d := recv(p.a)
		err := p.a.vi.ConnectStart(vipl.Address{Host: p.s.Name(7)}, vipl.ConnectOptions{Timeout: patience})
		if errors.Is(err, vipl.ErrNotReachable) {
			break // a NIC that knows at once
		}
		require.NoError(t, err)
		for range steps {
			p.s.Step()
		}
		giveUp(p.a, d)
	}
	p.settle()
	require.Empty(t, p.a.events, "each attempt ended once")
	p.connect()
}

func testReconnect(t *testing.T, s Setup) {
	p := newPair(t, s, options{reliability: nic.ReliableDelivery})
	for round := range 5 {
		p.connect()
		r := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(0, 64))
		p.recv(p.b, r)
		d := vipl.FillSend(&vipl.Descriptor{}, p.a.mem.Segment(0, 64))
		pattern(d.Segments[0].Data, round)
		p.send(p.a, d)
		require.Equal(t, nic.StatusSuccess, p.ended(p.b, r))
		assert.Equal(t, patterned(64, round), payload(r))
		ask, other := p.a, p.b
		if round%2 == 1 {
			ask, other = p.b, p.a
		}
		require.NoError(t, ask.vi.Disconnect())
		p.event(ask, vipl.EventDisconnected)
		p.event(other, vipl.EventDisconnected)
		require.NoError(t, other.vi.Disconnect())
		p.a.got, p.b.got = nil, nil
	}
}

func testWaitingConnect(t *testing.T, s Setup) {
	p := newPair(t, s, options{waiting: true, reliability: nic.ReliableDelivery})
	_, err := p.b.n.ConnectWait("x", 5*time.Millisecond)
	require.ErrorIs(t, err, vipl.ErrTimeout)
	assert.Equal(t, "VIP_TIMEOUT", vipl.StatusName(err))

	wrong := vipl.Address{Host: p.b.n.LocalAddr(), Discriminator: "wrong"}
	second := p.newVI(p.a, options{reliability: nic.ReliableDelivery, depth: 4})
	require.NoError(t, second.ConnectStart(wrong, vipl.ConnectOptions{Timeout: patience}))
	right := vipl.Address{Host: p.b.n.LocalAddr(), Discriminator: "right"}
	require.NoError(t, p.a.vi.ConnectStart(right, vipl.ConnectOptions{Timeout: patience}))
	req, err := p.b.n.ConnectWait("right", patience)
	require.NoError(t, err)
	assert.Equal(t, "right", req.Discriminator, "requests for others wait")
	require.NoError(t, req.Accept(p.b.vi))
	p.until("the connection", func() bool { return p.a.vi.State() == vipl.Connected && p.b.vi.State() == vipl.Connected })
	req, err = p.b.n.ConnectWait("wrong", patience)
	require.NoError(t, err)
	require.NoError(t, req.Reject(nil))
	p.until("the refusal", func() bool { return second.State() == vipl.Idle })
	require.ErrorIs(t, second.Query().Err, vipl.ErrReject)

	err = second.ConnectRequest(vipl.Address{Host: s.Name(2)}, vipl.ConnectOptions{Timeout: patience})
	require.ErrorIs(t, err, vipl.ErrNotReachable)
}

func testCrash(t *testing.T, s Setup) {
	if s.Crash == nil {
		t.Skip("a crash needs a process of its own here")
	}
	p := connected(t, s, options{reliability: nic.ReliableDelivery})
	var lost []vipl.AsyncError
	p.b.n.ErrorCallback(func(e vipl.AsyncError) { lost = append(lost, e) })
	r := vipl.FillRecv(&vipl.Descriptor{}, p.b.mem.Segment(0, 64))
	p.recv(p.b, r)
	s.Crash(p.a.name)
	assert.Equal(t, nic.StatusFlushed, p.ended(p.b, r))
	noticed := nic.ErrPeerDied
	if s.Apart {
		noticed = nic.ErrTimeout
	}
	require.ErrorIs(t, p.event(p.b, vipl.EventDisconnected).Err, noticed)
	require.Len(t, lost, 1)
	assert.Equal(t, vipl.ErrorConnLost, lost[0].Code)
	assert.Same(t, p.b.vi, lost[0].VI)

	// A restarted process takes the name again, and b connects to it.
	require.NoError(t, p.a.n.Close())
	p.a = p.open(0, options{reliability: nic.ReliableDelivery, entries: 16, depth: 4})
	require.NoError(t, p.b.vi.Disconnect())
	require.NoError(t, p.b.vi.ConnectStart(p.a.addr(), vipl.ConnectOptions{Timeout: patience}))
	require.NoError(t, p.event(p.a, vipl.EventRequest).Request.Accept(p.a.vi))
	p.event(p.b, vipl.EventConnected)
}

package vipl

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// quiet is a logger for tests that provoke warnings.
var quiet = slog.New(slog.DiscardHandler)

// stubbed opens a NIC over a stub, with one VI.
func stubbed(t testing.TB, events bool) (*stub, *NIC, *VI) {
	s := &stub{caps: stubCaps}
	n, err := OpenNIC(s, NICConfig{Events: events, Log: quiet})
	require.NoError(t, err)
	tag, err := n.CreatePtag()
	require.NoError(t, err)
	vi, err := n.CreateVI(VIAttributes{Tag: tag}, nil, nil)
	require.NoError(t, err)
	return s, n, vi
}

func connectStub(t testing.TB, s *stub, n *NIC, vi *VI) {
	require.NoError(t, vi.ConnectStart(Address{Host: "there"}, ConnectOptions{}))
	s.tell(s.ports[len(s.ports)-1], nic.EventConnected, nil)
	n.Poll()
	require.Equal(t, Connected, vi.State())
}

func TestLegalEdges(t *testing.T) {
	for from := range stateCount {
		for to := range stateCount {
			vi := &VI{state: from}
			if legal[from][to] {
				vi.become(to)
				assert.Equal(t, to, vi.state)
			} else {
				assert.Panics(t, func() { vi.become(to) }, "%v to %v", from, to)
			}
		}
		assert.NotContains(t, from.String(), "(")
	}
	assert.Equal(t, "State(9)", State(9).String())
}

// TestStrayEvents: nothing that a provider says at the wrong time panics or moves a
// VI.
func TestStrayEvents(t *testing.T) {
	kinds := []nic.EventKind{nic.EventConnected, nic.EventConnectFailed, nic.EventDisconnected}
	for _, kind := range kinds {
		s, n, vi := stubbed(t, true)
		for _, conn := range []*nic.ConnEvent{nil, {Err: errors.New("x")}} {
			s.tell(s.ports[0], kind, conn)
			n.Poll()
		}
		assert.Equal(t, Idle, vi.State())
		assert.Equal(t, uint64(2), n.SystemInfo().StrayEvents)
		s.events = append(s.events, nic.Event{Kind: kind}, nic.Event{Kind: 99})
		n.Poll()
		require.NoError(t, vi.Destroy())
		s.tell(s.ports[0], kind, nil)
		n.Poll()
		assert.Equal(t, Destroyed, vi.State())
	}
}

func TestConnectionIsLostWithoutAReason(t *testing.T) {
	s, n, vi := stubbed(t, true)
	connectStub(t, s, n, vi)
	var ev [2]ConnEvent
	require.Equal(t, 1, n.PollEvents(ev[:]))
	s.tell(s.ports[0], nic.EventDisconnected, nil)
	n.Poll()
	require.Equal(t, 1, n.PollEvents(ev[:]))
	assert.Equal(t, EventDisconnected, ev[0].Kind)
	require.Error(t, ev[0].Err, "somebody must say that it was not this side")
}

func TestDisconnectCrossesConnected(t *testing.T) {
	s, n, vi := stubbed(t, true)
	require.NoError(t, vi.ConnectStart(Address{Host: "there"}, ConnectOptions{}))
	s.tell(s.ports[0], nic.EventConnected, nil)
	require.NoError(t, vi.Disconnect())
	n.Poll()
	assert.Equal(t, Disconnected, vi.State())
	assert.Zero(t, n.SystemInfo().StrayEvents)
	s.tell(s.ports[0], nic.EventConnectFailed, &nic.ConnEvent{Err: nic.ErrTimeout})
	n.Poll()
	assert.Equal(t, Idle, vi.State())
}

// TestDisconnectWaitsForPostedReceives: an attempt that the device has given up
// already, or has not heard of, still ends only when the receives came back.
func TestDisconnectWaitsForPostedReceives(t *testing.T) {
	for _, peer := range []bool{false, true} {
		s, n, vi := stubbed(t, true)
		d, p := &Descriptor{}, s.ports[0]
		require.NoError(t, vi.PostRecv(d))
		if peer {
			require.NoError(t, vi.ConnectPeerRequest(Address{Host: "a"}, ConnectOptions{}))
			require.False(t, vi.peer.active, "it waits to be called")
		} else {
			require.NoError(t, vi.ConnectStart(Address{Host: "a"}, ConnectOptions{}))
			s.tell(p, nic.EventConnectFailed, &nic.ConnEvent{Err: nic.ErrUnreachable})
		}
		require.NoError(t, vi.Disconnect())
		require.True(t, p.left)
		n.Poll()
		var ev [2]ConnEvent
		require.Zero(t, n.PollEvents(ev[:]), "the receive is still posted")
		require.Equal(t, Disconnected, vi.State())

		s.events = append(s.events, nic.Event{Kind: nic.EventRecv, Cookie: p.cookie, Desc: d})
		s.tell(p, nic.EventDisconnected, nil)
		n.Poll()
		require.Equal(t, 1, n.PollEvents(ev[:]))
		assert.Equal(t, ConnEvent{Kind: EventDisconnected, VI: vi}, ev[0])
		assert.Equal(t, Idle, vi.State())
		got, _ := vi.RecvDone()
		assert.Same(t, d, got)
		assert.Zero(t, n.SystemInfo().StrayEvents)
	}
}

func TestEventsKeepTheOrder(t *testing.T) {
	s, n, vi := stubbed(t, true)
	cq, err := n.CreateCQ(8)
	require.NoError(t, err)
	vi.recvCQ = cq
	connectStub(t, s, n, vi)
	d := &Descriptor{}
	p := s.ports[0]
	s.events = append(s.events, nic.Event{Kind: nic.EventRecv, Cookie: p.cookie, Desc: d})
	s.tell(p, nic.EventDisconnected, &nic.ConnEvent{Err: nic.ErrPeerDied})
	s.events = append(s.events, nic.Event{Kind: nic.EventRecv, Cookie: p.cookie, Desc: d})

	var out [8]Completion
	var ev [2]ConnEvent
	assert.Zero(t, cq.Poll(out[:]), "EventConnected comes first")
	require.Equal(t, 1, n.PollEvents(ev[:]))
	assert.Equal(t, EventConnected, ev[0].Kind)
	assert.Equal(t, 1, cq.Poll(out[:]), "no further than the next connection event")
	assert.False(t, n.Poll())
	assert.Zero(t, cq.Poll(out[:]))
	require.ErrorIs(t, n.wait(0, func() bool { return false }), ErrInvalidState)
	require.Equal(t, 1, n.PollEvents(ev[:]))
	assert.Equal(t, EventDisconnected, ev[0].Kind)
	assert.Equal(t, 1, cq.Poll(out[:]))
	assert.Zero(t, n.PollEvents(ev[:]))
}

func TestErrorsOfTheProvider(t *testing.T) {
	boom := errors.New("boom")
	s, n, vi := stubbed(t, true)
	calls := map[string]func() error{
		"open":      func() error { _, err := OpenNIC(s, NICConfig{}); return err },
		"create vi": func() error { _, err := n.CreateVI(VIAttributes{Tag: 1}, nil, nil); return err },
		"register":  func() error { _, err := n.RegisterMem(make([]byte, 1), MemAttributes{Tag: 1}); return err },
		"connect":   func() error { return vi.ConnectStart(Address{Host: "x"}, ConnectOptions{}) },
		"destroy":   vi.Destroy,
		"attrs":     func() error { return vi.SetAttributes(VIAttributes{Tag: 1}) },
		"post":      func() error { return vi.PostRecv(&Descriptor{}) },
		"close":     n.Close,
	}
	for _, name := range []string{"open", "create vi", "register", "connect", "destroy", "attrs", "post", "close"} {
		s.err = boom
		require.ErrorIs(t, calls[name](), boom, name)
		s.err = nil
	}
	assert.Equal(t, 1, n.tags[1], "failed calls give the tag back")
	assert.Equal(t, Idle, vi.State())
}

func TestAsyncErrors(t *testing.T) {
	s, n, vi := stubbed(t, true)
	var got []AsyncError
	n.ErrorCallback(func(e AsyncError) { got = append(got, e) })
	boom := errors.New("boom")
	s.tell(s.ports[0], nic.EventError, &nic.ConnEvent{Err: boom})
	s.events = append(s.events, nic.Event{Kind: nic.EventError, Conn: &nic.ConnEvent{Err: boom}})
	var ev [2]ConnEvent
	n.Poll()
	require.Equal(t, 1, n.PollEvents(ev[:]))
	assert.Equal(t, ConnEvent{Kind: EventError, VI: vi, Err: boom}, ev[0])
	n.Poll()
	require.Equal(t, 1, n.PollEvents(ev[:]))
	assert.Equal(t, []AsyncError{{ErrorVI, vi, boom}, {ErrorNIC, nil, boom}}, got)
	assert.Equal(t, "error of the NIC", got[1].Code.String())
	assert.Equal(t, "ErrorCode(0)", ErrorCode(0).String())
	assert.Equal(t, uint64(2), n.SystemInfo().AsyncErrors)
}

func TestRequestsAreBounded(t *testing.T) {
	s, n, _ := stubbed(t, false)
	private := request{kind: kindClient, to: "x"}.append(nil)
	for i := range RequestsMax + 3 {
		s.events = append(s.events, nic.Event{Kind: nic.EventConnectRequest, Conn: &nic.ConnEvent{Request: nic.RequestID(i), Private: private}})
	}
	s.events = append(s.events, nic.Event{Kind: nic.EventConnectRequest, Conn: &nic.ConnEvent{Private: []byte("garbage")}})
	for n.Poll() {
	}
	assert.Equal(t, RequestsMax, n.SystemInfo().RequestsWaiting)
	assert.Equal(t, uint64(4), n.SystemInfo().RequestsRefused)
	require.Len(t, s.rejects, 4)
	assert.Equal(t, []byte{rejectNoMatch}, s.rejects[0])
	assert.Equal(t, []byte{rejectFormat}, s.rejects[3])
	require.ErrorIs(t, wrapNIC(&nic.RejectError{Reason: s.rejects[0]}), ErrNoMatch)
	require.ErrorIs(t, wrapNIC(&nic.RejectError{Reason: s.rejects[3]}), ErrReject)
	require.ErrorIs(t, wrapNIC(&nic.RejectError{}), ErrReject)
}

func TestStatusNames(t *testing.T) {
	assert.Equal(t, "VIP_SUCCESS", StatusName(nil))
	assert.Equal(t, "VIP_ERROR", StatusName(errors.New("x")))
	assert.Equal(t, "VIP_NO_MATCH", StatusName(wrapNIC(&nic.RejectError{Reason: []byte{rejectNoMatch}})))
	for _, s := range statusNames {
		assert.Equal(t, s.name, StatusName(s.err))
	}
	for status := nic.StatusFlushed; status <= nic.StatusFileError; status++ {
		err := Err(&Descriptor{Status: status})
		require.ErrorIs(t, err, ErrDescriptor)
		assert.NotContains(t, err.Error(), "unknown")
	}
	assert.Contains(t, Err(&Descriptor{Status: 200}).Error(), "unknown status 200")
}

func TestPayload(t *testing.T) {
	a, b := make([]byte, 4), make([]byte, 4)
	d := FillRecv(&Descriptor{}, Segment{Data: a}, Segment{Data: b})
	d.Length = 3
	data, ok := Payload(d)
	assert.True(t, ok)
	assert.Equal(t, &a[0], &data[0])
	assert.Len(t, data, 3)
	d.Length = 5
	_, ok = Payload(d)
	assert.False(t, ok, "in two segments")
	d.Length, d.Data = 2, b[:2]
	data, ok = Payload(d)
	assert.True(t, ok)
	assert.Equal(t, &b[0], &data[0])
	d.Length, d.Data = 0, nil
	data, ok = Payload(d)
	assert.True(t, ok)
	assert.Empty(t, data)
}

func TestWithoutSleeperOrAllocator(t *testing.T) {
	_, n, _ := stubbed(t, false)
	assert.False(t, n.Arm())
	n.Disarm()
	n.Wake()
	n.Sleep(time.Hour) // returns at once
	_, err := n.Alloc(64)
	require.ErrorIs(t, err, ErrNotSupported)
	require.ErrorIs(t, n.Free(nil), ErrNotSupported)
	_, err = n.ConnectWait("", 2*time.Millisecond)
	require.ErrorIs(t, err, ErrTimeout, "waiting without a Sleeper still ends")
}

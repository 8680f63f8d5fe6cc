package vipl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// directStub is a stub that has small messages for Take.
type directStub struct {
	*stub
	small []string // of the first port
}

func (s *directStub) Take(to *[nic.InlineMax]byte) (cookie any, data []byte, lent, idle bool) {
	if len(s.small) == 0 {
		return nil, nil, false, s.at == len(s.events)
	}
	n := copy(to[:], s.small[0])
	s.small = s.small[1:]
	return s.ports[0].cookie, to[:n], false, false
}

func (s *directStub) Return() {}

// TestTakeKeepsTheOrder: a small message is taken only when nothing that happened before it waits here: completions that were polled, or that are on the queue, and
// events of connections.
func TestTakeKeepsTheOrder(t *testing.T) {
	plain, n, vi := stubbed(t, true)
	s := &directStub{stub: plain}
	cq, err := n.CreateCQ(4)
	require.NoError(t, err)
	vi.recvCQ = cq
	var small [nic.InlineMax]byte
	take := func() (string, bool) {
		dev := cq.Direct()
		if dev == nil {
			return "", false
		}
		got, data, _, idle := dev.Take(&small)
		if got == nil {
			return "", idle
		}
		require.Same(t, vi, got)
		return string(data), idle
	}
	s.small = []string{"not yet"}
	_, idle := take()
	assert.False(t, idle, "the device takes no messages out of their descriptors")

	n.dev, n.direct = s, s
	got, idle := take()
	assert.Equal(t, "not yet", got)
	assert.False(t, idle)
	_, idle = take()
	assert.True(t, idle)

	s.events = append(s.events, nic.Event{Kind: nic.EventRecv, Cookie: vi, Desc: &Descriptor{}}, nic.Event{Kind: nic.EventRecv, Cookie: vi, Desc: &Descriptor{}})
	_, idle = take()
	assert.False(t, idle, "Poll has something")
	var out [1]Completion
	require.Equal(t, 1, cq.Poll(out[:]))
	n.Poll() // what the device still has goes to the queue
	s.small = []string{"after the second"}
	got, idle = take()
	assert.Equal(t, "", got)
	assert.False(t, idle)
	require.Equal(t, 1, cq.Poll(out[:]))
	got, _ = take()
	assert.Equal(t, "after the second", got)

	s.tell(s.ports[0], nic.EventError, &nic.ConnEvent{})
	n.Poll()
	s.small = []string{"after the event"}
	got, idle = take()
	assert.Equal(t, "", got)
	assert.False(t, idle)
	var ev [4]ConnEvent
	require.Equal(t, 1, n.PollEvents(ev[:]))
	got, _ = take()
	assert.Equal(t, "after the event", got)

	require.NoError(t, n.Close())
	s.small = []string{"too late"}
	got, idle = take()
	assert.Equal(t, "", got)
	assert.False(t, idle)
}

package host_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

const staged = 64 << 10 // bytes of a message that gets a copy

// hearsOf returns the ids in the program's records of a kind.
func (l *liar) hearsOf(kind wire.Kind) (ids []uint64) {
	for {
		record, ok, err := l.in.Next()
		require.NoError(l.t, err)
		if !ok {
			return ids
		}
		var h wire.Head
		_, err = h.Parse(record)
		require.NoError(l.t, err)
		if h.Kind == kind {
			ids = append(ids, h.Op)
		}
	}
}

// TestReceivesDoNotWaitForSends: otherwise two programs that post all their sends first would wait
// for each other for ever. Sends do not wait for receives either.
func TestReceivesDoNotWaitForSends(t *testing.T) {
	for _, first := range []bmi.Kind{bmi.KindSend, bmi.KindRecv} {
		l := newLiar(t)
		second, kind := bmi.KindRecv, wire.KindRecv
		if first == bmi.KindRecv {
			second, kind = bmi.KindSend, wire.KindSend
		}
		for range 2 * pairArena / staged {
			l.post(l.op(first, make([]byte, staged)))
		}
		require.True(t, l.method.Unsaid())
		l.hearsOf(kind)
		l.post(l.op(second, make([]byte, 512<<10)))
		require.Len(t, l.hearsOf(kind), 1, "even the largest")
		require.Zero(t, l.over)
	}
}

// TestBothWays: many large messages cross, each program posting its sends first.
func TestBothWays(t *testing.T) {
	p := newPair(t)
	recvs, sends := p.ops(40, staged)
	want := 2 * len(sends)
	p.mirror.patient = true
	for _, op := range append(sends, recvs...) {
		p.post(op)
	}
	for range 1000 {
		p.step()
	}
	require.Equal(t, want, p.over)
	require.NoError(t, p.err)
	require.Zero(t, p.arena.Used())
}

// TestWaitingForMemorySleeps: memory becomes free when an operation ends. The plugin rings the bell
// then, so polling is not needed.
func TestWaitingForMemorySleeps(t *testing.T) {
	l := newLiar(t)
	for range 2 * pairArena / staged {
		l.post(l.op(bmi.KindSend, make([]byte, staged)))
	}
	l.method.Poll()
	ids := l.hearsOf(wire.KindSend)
	require.True(t, l.method.Unsaid())
	require.False(t, l.method.Pressing())
	require.True(t, l.method.Arm())
	l.method.Disarm()
	l.says(wire.Head{Kind: wire.KindDone, Op: ids[0], Size: staged}, nil)
	require.NoError(t, l.broken)
	require.True(t, l.method.Pressing(), "one can go")
	require.False(t, l.method.Arm())
	l.method.Poll()
	require.Len(t, l.hearsOf(wire.KindSend), 1)
	require.False(t, l.method.Pressing())

	mem, err := l.method.Alloc(staged)
	require.NoError(t, err)
	require.NoError(t, l.method.Free(mem))
	require.True(t, l.method.Pressing(), "what the user frees may do as well")
}

// TestArmWhileMessagesAreKept: an endpoint that accepts no messages lets its caller sleep; it wakes
// it when it accepts some.
func TestArmWhileMessagesAreKept(t *testing.T) {
	l := newLiar(t)
	l.program.took = false
	l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: stranger + 1}, []byte("x://y"))
	l.says(wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage, Peer: stranger + 1, Size: 16000}, make([]byte, 16000))
	require.True(t, l.method.Arm())
	require.True(t, l.out.Asleep(), "the plugin rings if there is more")
	l.method.Disarm()
	l.insists()
	require.True(t, l.method.Arm(), "with too many, what is in the ring is no reason to stay awake")
	l.method.Disarm()

	l.program.wakes = 0
	l.method.Drop(bmi.HostPeer(l.program.refused))
	require.Equal(t, 1, l.program.wakes, "there is room for what the plugin says next")
	require.False(t, l.method.Arm())
}

// TestHeldAgain: the next plugin also gets the Hold for a sender.
func TestHeldAgain(t *testing.T) {
	l := newLiar(t)
	l.program.took = false
	for range 2 {
		l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: stranger + 1}, []byte("x://y"))
		for range 2 {
			l.says(wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage, Peer: stranger + 1}, nil)
		}
		h, _ := l.hears()
		require.Equal(t, wire.KindHold, h.Kind)
		_, ok, err := l.in.Next()
		require.NoError(t, err)
		require.False(t, ok, "once")
		l.method.Detach(errors.New("it died"))
		l.in, l.out = l.attachRaw()
	}
	l.program.took = true
	l.method.Poll()
	require.Equal(t, 4, l.program.arrived)
}

// TestCloseWithinHandler: an endpoint that does not wait for a handler any longer closes the method
// while the handler runs.
func TestCloseWithinHandler(t *testing.T) {
	l := newLiar(t)
	l.program.took = false
	for i := range uint64(2) {
		l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: stranger + 1 + i}, []byte{'a' + byte(i)})
		for range 2 {
			l.says(wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage, Peer: stranger + 1 + i}, nil)
		}
	}
	l.program.took = true
	l.program.handler = func() { require.NoError(t, l.method.Close(t.Context())) }
	require.True(t, l.method.Poll())
	require.Equal(t, 1, l.program.arrived, "nothing arrives at an endpoint that closed")
	require.False(t, l.method.Poll())
}

// TestDropBeforePost: the plugin learns of a drop before it learns of the peer that uses the
// dropped one's slot, even if there was no room for the drop.
func TestDropBeforePost(t *testing.T) {
	l := newLiar(t)
	for !l.method.Unsaid() {
		l.post(l.op(bmi.KindRecv, make([]byte, 8)))
	}
	l.method.Drop(bmi.HostPeer(l.to)) // ends the operation in the lane
	require.Equal(t, 1, l.over)
	l.hearsOf(wire.KindRecv)
	var err error
	l.to, err = l.method.Resolve("mirror://image")
	require.NoError(t, err)
	l.post(l.op(bmi.KindRecv, make([]byte, 8)))
	l.method.Poll()
	for _, want := range []wire.Kind{wire.KindDrop, wire.KindPeer, wire.KindRecv} {
		h, _ := l.hears()
		require.Equal(t, want, h.Kind)
	}
}

// TestDueOfBoth: operations that wait for a plugin give up in the order of their times, sends and
// receives alike; those that waited for an earlier plugin get new times.
func TestDueOfBoth(t *testing.T) {
	l := newLiar(t)
	l.due = 10
	l.method.Detach(errors.New("it died"))
	gone := errors.New("no other comes")
	l.post(l.op(bmi.KindSend, make([]byte, 8)))
	l.due = 20
	l.post(l.op(bmi.KindRecv, make([]byte, 8)))
	l.due = 30
	l.post(l.op(bmi.KindSend, make([]byte, 8)))
	for i, at := range []time.Duration{10, 20, 30} {
		due, ok := l.method.NextDue()
		require.True(t, ok)
		require.Equal(t, at, due)
		require.False(t, l.method.Expire(at-1, gone))
		require.True(t, l.method.Expire(at, gone))
		require.Equal(t, i+1, l.over)
	}
	_, ok := l.method.NextDue()
	require.False(t, ok)

	l.post(l.op(bmi.KindSend, make([]byte, staged)))
	l.in, l.out = l.attachRaw() // it reads nothing, and dies
	l.due = 1000
	l.method.Detach(errors.New("it died, too"))
	due, ok := l.method.NextDue()
	require.True(t, ok)
	require.EqualValues(t, 1000, due)
	l.post(l.op(bmi.KindRecv, make([]byte, 8)))
	l.method.GiveUp(gone)
	require.Zero(t, l.method.Pending())
	require.ErrorIs(t, l.err, gone)
}

// TestTruncatedIsBounded: the reported size of a truncated message is limited.
func TestTruncatedIsBounded(t *testing.T) {
	l := newLiar(t)
	l.post(l.op(bmi.KindRecv, make([]byte, 100)))
	_, _ = l.hears()
	h, _ := l.hears()
	l.says(wire.Head{Kind: wire.KindDone, Status: wire.StatusTruncated, Flags: wire.FlagText, Op: h.Op, Size: 1 << 62}, nil)
	require.NoError(t, l.broken)
	require.ErrorIs(t, l.err, bmi.ErrTruncated)
	require.Equal(t, l.method.Info().MaxExpectedSize, l.sizes)
}

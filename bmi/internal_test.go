package bmi

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func TestOpID(t *testing.T) {
	l := &lane{in: &instance{index: 200}}
	op := &Op{lane: l, slot: slotsMax - 1, gen: genMax}
	assert.Equal(t, 200, op.id().method())
	assert.EqualValues(t, slotsMax-1, op.id().slot())
	assert.EqualValues(t, genMax, op.id().gen())
	assert.EqualValues(t, 256, methodsMax)
}

// An id comes back only after all generations of its slot were used.
func TestGenerations(t *testing.T) {
	in := &instance{ep: &Endpoint{cfg: Config{}.withDefaults()}}
	l := &lane{in: in, ctx: new(Context)}
	op, err := l.acquireLocked()
	require.NoError(t, err)
	first := op.id()
	op.state = opCompleted
	l.recycleLocked(op)
	again, err := l.acquireLocked()
	require.NoError(t, err)
	require.Same(t, op, again)
	assert.NotEqual(t, first, op.id())
	assert.Nil(t, l.findLocked(first))

	op.state = opDone // its id was never given to a caller
	second := op.id()
	l.recycleLocked(op)
	assert.Equal(t, second, op.id())

	op.gen, op.state = genMax, opCompleted
	l.recycleLocked(op)
	assert.NotZero(t, op.id(), "0 is no id")
}

// The last step of the monitor's protocol: the holder may have left just before
// the waiter registered, so the waiter checks again instead of blocking.
func TestParkLooksAtTheMonitorAgain(t *testing.T) {
	e, err := Open(context.Background(), Config{})
	require.NoError(t, err)
	defer e.Close()
	r := request{kind: waitUnexpected, class: -1, unexpected: make([]Unexpected, 1)}
	returned := make(chan bool)
	go func() { returned <- e.waitAsOther(&r, &e.queue.waits, newWaiter(), Forever) }()
	select {
	case served := <-returned:
		assert.False(t, served)
	case <-time.After(wallclock.Patience):
		t.Fatal("waits although nobody holds the monitor")
	}
}

func TestWaiterSet(t *testing.T) {
	var s waiterSet
	ws := make([]*waiter, 5)
	for i := range ws {
		ws[i] = new(waiter)
		s.add(ws[i], 1)
	}
	for _, i := range []int{2, 4, 0} {
		s.remove(ws[i], 1)
	}
	assert.ElementsMatch(t, []*waiter{ws[1], ws[3]}, s)
	s.remove(ws[3], 1)
	s.remove(ws[1], 1)
	assert.Empty(t, s)
}

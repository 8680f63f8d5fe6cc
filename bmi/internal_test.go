package bmi

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

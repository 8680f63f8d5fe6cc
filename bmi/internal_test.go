package bmi

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpID(t *testing.T) {
	last := newID(200, slotsMax-1) + genMax - 1
	assert.Equal(t, 200, last.method())
	assert.Equal(t, slotsMax-1, last.slot())
	assert.EqualValues(t, genMax, last.gen())
	assert.Equal(t, newID(200, slotsMax-1), last.next(), "0 is no generation")
	assert.EqualValues(t, 256, methodsMax)
}

// An id comes back only after all generations of its slot were used.
func TestGenerations(t *testing.T) {
	in := &instance{ep: &Endpoint{cfg: Config{}.withDefaults()}}
	l := &lane{in: in, ctx: new(Context)}
	require.NoError(t, l.growLocked())
	op := l.takeFreeLocked()
	first := op.id
	op.state = opCompleted
	l.releaseLocked(op, new(Completion))
	require.Same(t, op, l.takeFreeLocked())
	assert.NotEqual(t, first, op.id)
	assert.Nil(t, l.findLocked(first))

	op.state = opDone // its id was never given to a caller
	second := op.id
	l.releaseLocked(op, new(Completion))
	assert.Equal(t, second, op.id)

	op.id, op.state = newID(0, 0)+genMax-1, opCompleted
	l.releaseLocked(op, new(Completion))
	assert.Equal(t, newID(0, 0), op.id)
}

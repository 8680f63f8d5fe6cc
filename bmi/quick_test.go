package bmi_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// quickly is a quick handler that checks the order of its calls.
type quickly struct {
	t     *testing.T
	take  func(bmi.Message) bool
	begun atomic.Bool
	ends  atomic.Int64
}

func (q *quickly) Begin() bool {
	assert.False(q.t, q.begun.Swap(true), "Begin twice")
	return true
}

func (q *quickly) Take(m bmi.Message) bool {
	assert.True(q.t, q.begun.Load(), "Take before Begin")
	return q.take(m)
}

func (q *quickly) End() {
	q.ends.Add(1)
	assert.True(q.t, q.begun.Swap(false), "End before Begin")
}

// A quick handler takes some messages; the rest go to the handler, in order.
func TestHandleQuick(t *testing.T) {
	w := newWorld(t)
	a, b := w.pair()
	const messages = 300
	var order []bmi.Tag // handlers of one method run one at a time
	var quick, slow, ready atomic.Int64
	quickHandler := &quickly{t: t}
	require.NoError(t, b.ep.Handle(3, func(m bmi.Message) {
		assert.False(t, quickHandler.begun.Load(), "a handler between Begin and End")
		slow.Add(1)
		order = append(order, m.Tag)
		ready.Add(1)
	}))
	quickHandler.take = func(m bmi.Message) bool {
		if m.Tag%3 == 0 {
			return false
		}
		quick.Add(1)
		order = append(order, m.Tag)
		ready.Add(1)
		b.ctx.Notify()
		return true
	}
	b.ep.HandleQuick(3, quickHandler)
	before := b.ep.Stats().Endpoint.HandlerCalls
	go func() {
		for tag := range bmi.Tag(messages) {
			a.wait(a.ctx.PostSendUnexpected(a.peer, 3, tag, nil, nil))
		}
	}()
	var out [1]bmi.Completion
	_, err := b.ctx.TestUntil(func() bool { return ready.Load() == messages }, out[:], limit)
	require.NoError(t, err)
	require.EqualValues(t, messages, ready.Load())
	assert.EqualValues(t, messages/3, slow.Load())
	assert.EqualValues(t, messages-messages/3, quick.Load())
	for i, tag := range order {
		require.EqualValues(t, i, tag)
	}
	assert.EqualValues(t, messages, b.ep.Stats().Endpoint.HandlerCalls-before)
	assert.False(t, quickHandler.begun.Load(), "End is missing")
	assert.Positive(t, quickHandler.ends.Load())

	b.ep.HandleQuick(3, nil)
	b.ep.HandleQuick(4, &quickly{t: t, take: func(bmi.Message) bool { t.Error("a class without a handler is queued"); return true }})
	a.wait(a.ctx.PostSendUnexpected(a.peer, 3, messages+1, nil, nil))
	a.wait(a.ctx.PostSendUnexpected(a.peer, 4, 0, nil, nil))
	require.Eventually(t, func() bool { return slow.Load() == messages/3+1 }, limit, time.Millisecond)
	var queued [1]bmi.Unexpected
	n, err := b.ep.TestUnexpected(queued[:], limit)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	queued[0].Release()
}

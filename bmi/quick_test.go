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

func (q *quickly) Begin(bmi.Addr) bool {
	assert.False(q.t, q.begun.Swap(true), "Begin twice")
	return true
}

func (q *quickly) Take(from bmi.Addr, class bmi.Class, tag bmi.Tag, data []byte) bool {
	assert.True(q.t, q.begun.Load(), "Take before Begin")
	return q.take(bmi.Message{From: from, Class: class, Tag: tag, Data: data})
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

// TestSharedMessages: data that the peer can still write to is copied for handlers and for the queue, not for a quick handler.
func TestSharedMessages(t *testing.T) {
	mem := []byte("as it was sent")
	sent := false
	f := &fake{}
	f.poll = func(f *fake) bool {
		if sent {
			return false
		}
		sent = true
		return f.host.ArrivedShared(f.addr, 3, 0, mem)
	}
	s := f.open(t, bmi.Config{Manual: true})
	arrive := func() {
		sent = false
		_, err := s.ctx.TestContext(make([]bmi.Completion, 1), 0)
		require.NoError(t, err)
		require.True(t, sent)
	}
	arrive()
	copy(mem, "AS")
	var queued [1]bmi.Unexpected
	n, err := s.ep.TestUnexpected(queued[:], 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, "as it was sent", string(queued[0].Data))
	queued[0].Release()

	seen := 0
	require.NoError(t, s.ep.Handle(3, func(m bmi.Message) {
		seen++
		copy(mem, "as")
		assert.Equal(t, "AS it was sent", string(m.Data))
	}))
	arrive()
	require.Equal(t, 1, seen)

	takes := true
	s.ep.HandleQuick(3, &quickly{t: t, take: func(m bmi.Message) bool {
		assert.Same(t, &mem[0], &m.Data[0])
		if !takes {
			copy(mem, "AS") // the handler sees the bytes as they are when the message is copied
		}
		return takes
	}})
	arrive()
	require.Equal(t, 1, seen, "the quick handler took it")
	takes = false
	arrive()
	require.Equal(t, 2, seen)
}

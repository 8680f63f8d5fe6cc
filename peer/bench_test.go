package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// readyMachine is a machine in READY.
func readyMachine() *Machine {
	m := New(testConfig(), 1, false)
	m.Step(0, Event{Kind: EventQueued}, nil)
	m.Step(0, Event{Kind: EventLinkUp, Link: 1}, nil)
	m.Step(0, Event{Kind: EventConnAck, Link: 1, Hello: remote(200, 1)}, nil)
	return m
}

// BenchmarkSendInReady is the machine's cost per message.
func BenchmarkSendInReady(b *testing.B) {
	m := readyMachine()
	drained := 0
	for i := range b.N {
		if m.State() == Ready {
			m.Acquire()
		}
		m.Heard(time.Duration(i))
		if m.Release() {
			drained++
		}
	}
	if drained != 0 {
		b.Fatal("drained in READY")
	}
}

// BenchmarkStep is a keep-alive and its answer.
func BenchmarkStep(b *testing.B) {
	m := readyMachine()
	var out []Action
	for i := range b.N {
		out = m.Step(time.Duration(i), Event{Kind: EventKeepAlive, Link: 1}, out[:0])
	}
	if len(out) != 1 {
		b.Fatal(out)
	}
}

// BenchmarkConnect is a whole connection: connect, READY, link down.
func BenchmarkConnect(b *testing.B) {
	m := New(testConfig(), 1, false)
	var out []Action
	for i := range b.N {
		now := time.Duration(i) * time.Millisecond
		out = m.Step(now, Event{Kind: EventQueued}, out[:0])
		link, attempt := out[0].Link, out[0].Hello.Attempt
		out = m.Step(now, Event{Kind: EventLinkUp, Link: link}, out[:0])
		out = m.Step(now, Event{Kind: EventConnAck, Link: link, Hello: remote(200, attempt)}, out[:0])
		out = m.Step(now, Event{Kind: EventLinkDown, Link: link}, out[:0])
	}
	if m.State() != Init {
		b.Fatal(m)
	}
}

func BenchmarkLookup(b *testing.B) {
	ids := NewIDs[*Machine](IDMax, 0)
	m := readyMachine()
	for range 1000 {
		ids.Take(m)
	}
	found := 0
	for i := range b.N {
		if _, ok := ids.Lookup(ID(i%1000) + 1); ok {
			found++
		}
	}
	if found != b.N {
		b.Fatal("lost some")
	}
}

func TestNothingAllocates(t *testing.T) {
	m := readyMachine()
	out := make([]Action, 0, 8)
	now := time.Second
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		m.Acquire()
		m.Heard(now)
		m.Release()
		out = m.Step(now, Event{Kind: EventLinkDown, Link: m.Link()}, out[:0])
		out = m.Step(now, Event{Kind: EventQueued}, out[:0])
		out = m.Step(now, Event{Kind: EventLinkUp, Link: m.Link()}, out[:0])
		out = m.Step(now, Event{Kind: EventConnAck, Link: m.Link(), Hello: remote(200, out[0].Hello.Attempt)}, out[:0])
	}))
	assert.Equal(t, Ready, m.State())
}

package tcp

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// Close ends the method (bmi.Method): it sends the posted messages, waits until
// the other sides have them, and closes all connections.
func (m *method) Close(ctx context.Context) error {
	m.closing = true
	for _, ln := range m.listeners {
		m.timers.Stop(&ln.timer)
		_ = ln.Close()
	}
	m.accepting = nil
	m.pollUntil(ctx, m.allSent)
	for r := range m.known() {
		m.abandonDial(r)
		m.failAll(r, r.errorf(bmi.ErrClosed, "the endpoint was closed"))
	}
	m.names.Stop()
	m.finishAll(ctx)
	for c := range m.connections() {
		m.forgetConn(c)
	}
	if err := m.stack.Close(); err != nil {
		return fmt.Errorf("tcp: %w", err)
	}
	return nil
}

// allSent reports whether no send is left that a connection could still transmit.
func (m *method) allSent() bool {
	for r := range m.known() {
		if r.sends.Len() > 0 && (r.dial != nil || r.c != nil) {
			return false
		}
	}
	return true
}

// finishAll finishes all streams, and waits until the other sides have all bytes
// sent.
func (m *method) finishAll(ctx context.Context) {
	var waiting []*conn
	for c := range m.connections() {
		if c.state == connOpen && c.stream.Finish() == nil {
			waiting = append(waiting, c)
		}
	}
	m.pollUntil(ctx, func() bool {
		waiting = slices.DeleteFunc(waiting, func(c *conn) bool {
			return c.state != connOpen || c.stream.Delivered()
		})
		return len(waiting) == 0
	})
}

// connections walks all connections.
func (m *method) connections() func(func(*conn) bool) {
	return func(yield func(*conn) bool) {
		for i := range m.slots {
			if c := m.slots[i].c; c != nil && !yield(c) {
				return
			}
		}
	}
}

// pollUntil polls until done, or ctx ends, or CloseDrainMax has passed, however
// much there is to do. Even if ctx has already ended it polls closeSpinPolls
// times.
func (m *method) pollUntil(ctx context.Context, done func() bool) {
	end := m.clock() + CloseDrainMax
	idle := 0
	for polls := 0; !done(); polls++ {
		left := end - m.clock()
		over := m.opts.Idle == nil && ctx.Err() != nil
		if left <= 0 || over && polls >= closeSpinPolls {
			return
		}
		idle++
		if m.Poll() {
			idle = 0
		}
		// Simulated time does not pass otherwise.
		if idle >= closeSpinPolls || m.opts.Idle != nil && polls%closeSpinPolls == closeSpinPolls-1 {
			m.idle(min(left, time.Millisecond))
		}
	}
}

// idle waits until something may have happened.
func (m *method) idle(left time.Duration) {
	s, ok := m.stack.(stack.Sleeper)
	switch {
	case m.opts.Idle != nil:
		m.opts.Idle(left)
	case ok:
		if s.Arm() {
			s.Sleep(left)
		}
		s.Disarm()
		m.look = true
	default:
		runtime.Gosched()
	}
}

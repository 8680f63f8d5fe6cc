package server

import (
	"context"

	"github.com/viaduct-hpc/viaduct/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/pvfs/refusal"
)

// A throttle has few places for requests that need much CPU time, so that requests that need little are not delayed. The need of
// a request shows only while it is carried out. A request takes a place after its first slice of work, and goes to the end of the
// queue after each further slice.
type throttle chan struct{}

func newThrottle() throttle { return make(throttle, throttlePlaces()) }

// A turn is the state of one request at the throttle. It is used by one goroutine at a time.
type turn struct {
	places throttle
	ctx    context.Context
	steps  int   // since it last waited in the queue
	in     bool  // it has a place
	err    error // why it must stop

	held func() // called once, when it has to wait; may be nil
}

// turn starts the work of a request. The turn ends with ctx.
func (t throttle) turn(ctx context.Context) *turn { return &turn{places: t, ctx: ctx} }

// turn starts the work of a query.
func (s *Server) turn(q *query) *turn {
	t := s.throttle.turn(q.ctx)
	t.held = func() { s.refusals.Note(refusal.SlowWalk, s.origin(q.peer), "operation", int32(q.req.Op())) }
	return t
}

// walked counts one part of a walk (datatype.PacedRegions).
func (t *turn) walked() bool { return t.spend(datatype.PaceSteps) == nil }

// moved counts a read or write of n bytes.
func (t *turn) moved(n int) error {
	if n >= shortBytes {
		return t.err
	}
	return t.spend(callSteps)
}

// spend counts steps. After a slice of steps it waits in the queue.
func (t *turn) spend(steps int) error {
	if t.steps += steps; t.steps < sliceSteps || t.err != nil {
		return t.err
	}
	t.steps = 0
	t.leave()
	select {
	case t.places <- struct{}{}:
		t.in = true
		return nil
	default:
	}
	if t.held != nil {
		t.held()
		t.held = nil
	}
	select {
	case t.places <- struct{}{}:
		t.in = true
	case <-t.ctx.Done():
		t.err = t.ctx.Err()
	}
	return t.err
}

// leave gives the place back. A request calls it before it waits for anything else.
func (t *turn) leave() {
	if t.in {
		t.in = false
		<-t.places
	}
}

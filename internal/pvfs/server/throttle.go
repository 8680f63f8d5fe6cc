package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
)

// A throttle has few places for requests that need much CPU time, so that requests that need little are not delayed. The need of
// a request shows only while it is carried out. A request takes a place after its first slice of work, and goes to the end of the
// queue after each further slice.
//
// A place is one CPU at most. On a machine with few CPUs and several servers that can be all of them. So while requests wait for
// places and brief requests come in, a place that was used rests for as long as it was used.
type throttle struct {
	places  chan struct{}
	waiting atomic.Int32 // turns that wait for a place
	began   time.Time    // of the throttle
	brief   atomic.Int64 // when a request ended that needed no place, since began; 0: never
}

func newThrottle(places int) *throttle {
	return &throttle{places: make(chan struct{}, places), began: time.Now()}
}

// A turn is the state of one request at the throttle. It is used by one goroutine at a time.
type turn struct {
	throttle *throttle
	ctx      context.Context
	steps    int       // since it last waited in the queue
	in       bool      // it has a place
	since    time.Time // when it got the place
	long     bool      // it has needed a place
	err      error     // why it must stop

	held func() // called once, when it has to wait; may be nil
}

// turn starts the work of a request. The turn ends with ctx.
func (t *throttle) turn(ctx context.Context) *turn { return &turn{throttle: t, ctx: ctx} }

// turn starts the work of a query.
func (s *Server) turn(q *query) *turn {
	q.turn = s.throttle.turn(q.ctx)
	q.turn.held = func() { s.refusals.Note(refusal.SlowWalk, s.origin(q.peer), "operation", int32(q.req.Op())) }
	return q.turn
}

// ended notes the end of a request. turn is nil if it had none.
func (t *throttle) ended(turn *turn, now time.Time) {
	if turn == nil || !turn.long {
		t.brief.Store(int64(now.Sub(t.began)))
	}
}

// rest is how long a place rests that was used from since until now.
func (t *throttle) rest(since, now time.Time) time.Duration {
	brief := time.Duration(t.brief.Load())
	if t.waiting.Load() == 0 || brief == 0 || now.Sub(t.began)-brief > restsAfterBrief {
		return 0
	}
	return min(now.Sub(since), restMax)
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
	t.steps, t.long = 0, true
	t.leave()
	select {
	case t.throttle.places <- struct{}{}:
		t.enter()
		return nil
	default:
	}
	if t.held != nil {
		t.held()
		t.held = nil
	}
	t.throttle.waiting.Add(1)
	defer t.throttle.waiting.Add(-1)
	select {
	case t.throttle.places <- struct{}{}:
		t.enter()
	case <-t.ctx.Done():
		t.err = t.ctx.Err()
	}
	return t.err
}

func (t *turn) enter() { t.in, t.since = true, time.Now() }

// leave gives the place back, at once or after its rest. A request calls it before it waits for anything else.
func (t *turn) leave() {
	if !t.in {
		return
	}
	t.in = false
	free := func() { <-t.throttle.places }
	if rest := t.throttle.rest(t.since, time.Now()); rest > 0 {
		time.AfterFunc(rest, free)
	} else {
		free()
	}
}

package server

import (
	"context"
	"runtime"

	"github.com/viaduct-hpc/viaduct/pvfs/datatype"
)

// A throttle has few places for requests that need much processor time, so that some is left at once for all that need little. A request
// shows what it needs only while it is carried out: it takes a place after its first slice of work, and goes to the end of the line
// after each further one.
type throttle chan struct{}

// sliceSteps is a slice of work, in steps of some ten nanoseconds.
const sliceSteps = 4096

// A call of the system that moves fewer than shortBytes costs callSteps; a longer one is worth what it costs.
const (
	shortBytes = 4096
	callSteps  = 64
)

// newThrottle makes a throttle with a place for every second processor.
func newThrottle() throttle { return make(throttle, max(runtime.GOMAXPROCS(0)/2, 1)) }

// A turn is what one request does at the throttle. It is used by one goroutine at a time.
type turn struct {
	places throttle
	ctx    context.Context
	steps  int   // since it was in the line
	in     bool  // it has a place
	err    error // why it goes no further
}

// turn begins the work of a request, which ends with ctx.
func (t throttle) turn(ctx context.Context) *turn { return &turn{places: t, ctx: ctx} }

// walked counts a part of a walk (datatype.PacedRegions).
func (t *turn) walked() bool { return t.spend(datatype.PaceSteps) == nil }

// moved counts a read or write of n bytes.
func (t *turn) moved(n int) error {
	if n >= shortBytes {
		return t.err
	}
	return t.spend(callSteps)
}

// spend counts steps, and waits in the line once there were enough of them.
func (t *turn) spend(steps int) error {
	if t.steps += steps; t.steps < sliceSteps || t.err != nil {
		return t.err
	}
	t.steps = 0
	t.leave()
	select {
	case t.places <- struct{}{}:
		t.in = true
	case <-t.ctx.Done():
		t.err = t.ctx.Err()
	}
	return t.err
}

// leave gives the place back, as everybody does who waits for something else.
func (t *turn) leave() {
	if t.in {
		t.in = false
		<-t.places
	}
}

package secure

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/timers"
)

// waiting are the streams with a deadline: for the end of a handshake, or for the
// other side to take the end of a failed stream. There are none while no handshake
// runs.
type waiting struct {
	wheel timers.Wheel[stream, *stream]
	timer *time.Timer // wakes the owner at the first deadline, if the owner can sleep
}

// Timer is the stream's place in waiting.wheel.
func (s *stream) Timer() *timers.Timer[stream] { return &s.timer }

// watch sets the deadline of a stream.
func (t *Stack) watch(s *stream, timeout time.Duration) {
	now := t.clock()
	t.waiting.wheel.Set(s, now+timeout)
	t.wakeAtNext(now)
}

// unwatch removes the deadline, if there is one.
func (t *Stack) unwatch(s *stream) {
	w := &t.waiting
	w.wheel.Stop(s)
	if _, ok := w.wheel.Next(); !ok && w.timer != nil {
		w.timer.Stop()
	}
}

// wakeAtNext makes a sleeping owner poll when the next deadline is due.
func (t *Stack) wakeAtNext(now time.Duration) {
	w := &t.waiting
	at, ok := w.wheel.Next()
	switch {
	case !ok || t.notes.wake == nil:
	case w.timer == nil:
		w.timer = time.AfterFunc(at-now, func() { t.notes.add(nil) })
	default:
		w.timer.Reset(at - now)
	}
}

// expire ends the wait of every stream whose deadline has passed.
func (t *Stack) expire() {
	w := &t.waiting
	if now, due := w.wheel.Due(t.clock); due {
		w.wheel.Advance(now, (*stream).expire)
		t.wakeAtNext(now)
	}
}

func (w *waiting) close() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

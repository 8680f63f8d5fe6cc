package secure

import "time"

// waiting are the streams with a deadline: for the end of a handshake, or for the
// other side to take the end of a failed stream. There are few of them, and none
// while no handshake runs.
type waiting struct {
	list  []*stream
	first time.Duration // no deadline is earlier; valid if there are any
	timer *time.Timer   // wakes the owner at first, if it can sleep
}

// watch sets the deadline of a stream.
func (t *Stack) watch(s *stream, timeout time.Duration) {
	w := &t.waiting
	t.unwatch(s)
	s.deadline = t.clock() + timeout
	s.waits = len(w.list) + 1
	w.list = append(w.list, s)
	if len(w.list) > 1 && s.deadline >= w.first {
		return
	}
	w.first = s.deadline
	t.wakeIn(timeout)
}

// unwatch removes the deadline, if there is one.
func (t *Stack) unwatch(s *stream) {
	w := &t.waiting
	if s.waits == 0 {
		return
	}
	last := len(w.list) - 1
	w.list[s.waits-1] = w.list[last]
	w.list[s.waits-1].waits = s.waits
	w.list[last] = nil
	w.list = w.list[:last]
	s.waits = 0
	if last == 0 && w.timer != nil {
		w.timer.Stop()
	}
}

// wakeIn makes a sleeping owner poll after the given time.
func (t *Stack) wakeIn(after time.Duration) {
	switch w := &t.waiting; {
	case t.notes.wake == nil:
	case w.timer == nil:
		w.timer = time.AfterFunc(after, func() { t.notes.add(nil) })
	default:
		w.timer.Reset(after)
	}
}

// due reports whether a deadline may have passed.
func (w *waiting) due(clock func() time.Duration) bool {
	return len(w.list) > 0 && clock() >= w.first
}

// expire ends the wait of every stream whose deadline has passed.
func (t *Stack) expire(now time.Duration) {
	w := &t.waiting
	for i := len(w.list) - 1; i >= 0; i-- {
		// Only the stream at i leaves the list, and one that was already examined
		// takes its place.
		if s := w.list[i]; s.deadline <= now {
			s.expire()
		}
	}
	if len(w.list) == 0 {
		return
	}
	w.first = w.list[0].deadline
	for _, s := range w.list {
		w.first = min(w.first, s.deadline)
	}
	t.wakeIn(w.first - now)
}

func (w *waiting) close() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

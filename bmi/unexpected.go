package bmi

import (
	"fmt"
	"time"
)

// Unexpected is an unexpected message taken from the queue.
type Unexpected struct {
	From  Addr
	Class Class
	Tag   Tag
	Data  []byte // the caller's until Release

	item *unexpectedItem
	gen  uint64
}

// Release gives Data back for use by a later message. A caller that keeps Data need not call
// Release. A second call does nothing.
func (u *Unexpected) Release() {
	if u.item != nil {
		u.item.queue.release(u.item, u.gen)
	}
	u.item, u.Data = nil, nil
}

// Message is an unexpected message as a handler sees it.
type Message struct {
	From  Addr
	Class Class
	Tag   Tag
	Data  []byte // valid only during the call
}

// TestUnexpected returns unexpected messages of classes without a handler, in the order of
// their arrival, as many as out has room for. It waits for the first.
func (e *Endpoint) TestUnexpected(out []Unexpected, wait time.Duration) (int, error) {
	return e.testUnexpected(-1, out, wait)
}

// TestUnexpectedClass is TestUnexpected for the messages of one class.
func (e *Endpoint) TestUnexpectedClass(class Class, out []Unexpected, wait time.Duration) (int, error) {
	return e.testUnexpected(int(class), out, wait)
}

func (e *Endpoint) testUnexpected(class int, out []Unexpected, wait time.Duration) (int, error) {
	if len(out) == 0 {
		return 0, errNoRoom
	}
	r := request{kind: waitUnexpected, class: class, unexpected: out}
	n, err := e.test(&r, &e.queue.waits, wait, nil)
	if n > 0 && e.queue.roomAgain() {
		e.pollSoon()
	}
	return n, err
}

// pollSoon makes the methods offer held messages again.
func (e *Endpoint) pollSoon() {
	for _, in := range e.methods() {
		in.Wake()
	}
}

// Handle registers fn for the unexpected messages of a class, or removes the handler if fn is nil. Queued messages of the
// class go to fn first, from within Handle. fn runs in whichever goroutine makes progress, one call at a time for each
// method. fn may post and cancel, but must not wait or close the endpoint. It should return soon, because no goroutine
// polls that method until it returns. A panic of fn is not recovered. Removing a handler does not wait for a running
// call.
func (e *Endpoint) Handle(class Class, fn func(Message)) error {
	if e.closing.Load() {
		return fmt.Errorf("%w: the endpoint, open another", ErrClosed)
	}
	q := &e.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if fn == nil {
		e.handlers[class].Store(nil)
		q.registering[class] = nil
		return nil
	}
	if q.registering[class] != nil {
		return fmt.Errorf("%w: another Handle call for class %d is still running", ErrInvalid, class)
	}
	q.registering[class] = &fn
	defer func() {
		if q.registering[class] == &fn {
			q.registering[class] = nil
		}
	}()
	for q.classes[class].Len() > 0 {
		item := (*unexpectedItem)(q.classes[class].First())
		q.removeLocked(item)
		q.handle(fn, item)
		if q.registering[class] != &fn {
			return nil // removed meanwhile
		}
	}
	e.handlers[class].Store(&fn)
	if q.wasFull {
		q.wasFull = false
		e.pollSoon()
	}
	return nil
}

// A QuickHandler sees the messages of a class before its handler does, and takes those that are
// easy to process. It is called with the method's lock held, which saves time. So it must not
// wait for anything, nor for a lock that a caller of the endpoint may hold. It may call no method
// of the endpoint but Context.Notify, and those of a Guard that do not wait.
type QuickHandler interface {
	// Begin is called before one or more calls of Take by one caller, for messages of one method. from
	// is the sender of the first. If Begin returns false, the message goes to the handler.
	Begin(from Addr) bool
	// Take processes a message, or returns false to leave it to the handler. data is valid only during the call. The peer
	// may still be able to write to it, so Take reads nothing of it twice.
	Take(from Addr, class Class, tag Tag, data []byte) bool
	// End is called after the last Take, before any handler is called and before the caller
	// releases the method's lock.
	End()
}

// HandleQuick adds a QuickHandler to the handler of a class; nil removes it.
func (e *Endpoint) HandleQuick(class Class, h QuickHandler) {
	if h == nil {
		e.quick[class].Store(nil)
		return
	}
	e.quick[class].Store(&h)
}

// handle gives one queued message to a handler. The lock is released meanwhile.
func (q *unexpectedQueue) handle(fn func(Message), item *unexpectedItem) {
	q.handled++
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		q.freeLocked(item)
	}()
	fn(Message{From: item.from, Class: item.class, Tag: item.tag, Data: item.data})
}

// queueUnexpected keeps a copy of a message. If a handler for the class was registered in the
// meantime, it returns that instead.
func (e *Endpoint) queueUnexpected(from Addr, class Class, tag Tag, data []byte) (bool, *func(Message)) {
	q := &e.queue
	q.mu.Lock()
	if fn := e.handlers[class].Load(); fn != nil {
		q.mu.Unlock()
		return false, fn
	}
	accepted := q.putLocked(from, class, tag, data)
	q.mu.Unlock()
	if accepted && q.waits.Waiting() {
		e.monitor.WakeList(&q.waits)
	}
	return accepted, nil
}

// takeUnexpected collects messages for a request.
func (e *Endpoint) takeUnexpected(r *request) bool {
	q := &e.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	for r.n < len(r.unexpected) {
		item := q.all.First()
		if r.class >= 0 {
			item = (*unexpectedItem)(q.classes[r.class].First())
		}
		if item == nil {
			break
		}
		q.removeLocked(item)
		r.unexpected[r.n] = Unexpected{From: item.from, Class: item.class, Tag: item.tag, Data: item.data, item: item, gen: item.gen}
		r.n++
	}
	return r.n > 0
}

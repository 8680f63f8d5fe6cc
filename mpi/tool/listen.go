package tool

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/bmi/about"
)

// A Safety says in which situations a callback may be called (MPI-4.1, 15.3.8).
type Safety uint8

// Safety levels.
const (
	// RequireNone: the callback may do anything. It runs in a goroutine of its own, one event after
	// another. Events wait for it in a queue; if that is full, they are dropped, and the handler of
	// OnDropped learns how many. MPI_T_CB_REQUIRE_NONE.
	RequireNone Safety = iota
	// Restricted: the callback neither waits nor calls anything of this module. It runs at once, in
	// the goroutine that noticed the event, with locks of the library held, one event at a time.
	// Nothing is dropped. MPI_T_CB_REQUIRE_MPI_RESTRICTED.
	Restricted
	// ThreadSafe is Restricted, and several calls may run at once.
	// MPI_T_CB_REQUIRE_THREAD_SAFE.
	ThreadSafe
	// SignalSafe is ThreadSafe: no event is noticed in a signal handler.
	// MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE.
	SignalSafe
)

// queueMax is how many events wait for a callback.
const queueMax = 1024

// A Listener is a callback for events of one type.
type Listener struct {
	t      *Interface
	typ    EventType
	safety Safety
	fn     func(Event)
	stop   func() // ends the reports

	queue   chan Event
	dropped atomic.Uint64 // since the last call of onDropped
	ending  sync.Once
	ended   chan struct{} // Stop was called
	done    chan struct{} // no callback runs any more

	// calls is held while a callback runs that is not RequireNone; exclusively, if it is Restricted.
	calls     sync.RWMutex
	onDropped atomic.Pointer[func(n uint64)]
}

// Listen makes fn the callback for events of a type, from now on (MPI_T_event_get_index,
// MPI_T_event_handle_alloc, MPI_T_event_register_callback; MPI-4.1, 15.3.8). A type may have any number
// of callbacks. Errors are ErrInvalidName, ErrInvalid and ErrNotInitialized.
func (t *Interface) Listen(name string, safety Safety, fn func(Event)) (*Listener, error) {
	types := t.events()
	i := slices.IndexFunc(types, func(e EventType) bool { return e.Name == name })
	switch {
	case i < 0:
		return nil, fail(ErrInvalidName, "there is no event %.80q", name)
	case fn == nil || safety > SignalSafe:
		return nil, fail(ErrInvalid, "a callback for %s needs a function and a safety level", name)
	}
	l := &Listener{
		t: t, typ: types[i], safety: safety, fn: fn,
		queue: make(chan Event, queueMax), ended: make(chan struct{}), done: make(chan struct{}),
	}
	l.stop = sourceOf(name).Observe(t.p, l.take)
	if safety == RequireNone {
		go l.run()
	}
	t.mu.Lock()
	closed := t.closed
	if !closed {
		t.listeners[l] = struct{}{}
	}
	t.mu.Unlock()
	if closed {
		l.end()
		return nil, fail(ErrNotInitialized, "the tools interface is closed: open it again")
	}
	return l, nil
}

// OnDropped sets a function that learns how many events were dropped since it was last called, before
// the next event that is not (MPI_T_event_set_dropped_handler; MPI-4.1, 15.3.8).
func (l *Listener) OnDropped(fn func(n uint64)) { l.onDropped.Store(&fn) }

// Stop ends the callback (MPI_T_event_handle_free; MPI-4.1, 15.3.8). Events that wait for it are lost.
// The channel is closed when no call of it runs any more; the callback itself must not wait for that.
func (l *Listener) Stop() (done <-chan struct{}) {
	l.t.mu.Lock()
	delete(l.t.listeners, l)
	l.t.mu.Unlock()
	l.end()
	return l.done
}

func (l *Listener) end() {
	l.ending.Do(func() {
		close(l.ended)
		l.stop()
		if l.safety == RequireNone {
			return // run closes done
		}
		go func() {
			l.calls.Lock() // after the calls that run
			defer l.calls.Unlock()
			close(l.done)
		}()
	})
}

// take takes an event from its source. It must not wait.
func (l *Listener) take(ev about.Event) {
	if ev.Name != l.typ.Name {
		return
	}
	e := Event{Type: &l.typ, At: ev.At.Sub(began), Values: ev.Values}
	switch l.safety {
	case RequireNone:
		select {
		case l.queue <- e:
		default:
			l.dropped.Add(1)
		}
	case Restricted:
		l.calls.Lock()
		defer l.calls.Unlock()
		l.call(e)
	default:
		l.calls.RLock()
		defer l.calls.RUnlock()
		l.call(e)
	}
}

// call calls the callback, unless the listener has ended.
func (l *Listener) call(e Event) {
	select {
	case <-l.ended:
	default:
		l.fn(e)
	}
}

// run calls the callback for queued events.
func (l *Listener) run() {
	defer close(l.done)
	for {
		select {
		case <-l.ended:
			return
		case e := <-l.queue:
			if n := l.dropped.Swap(0); n > 0 {
				if fn := l.onDropped.Load(); fn != nil && *fn != nil {
					(*fn)(n)
				}
			}
			l.fn(e)
		}
	}
}

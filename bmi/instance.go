package bmi

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/progress"
)

// An instance is one opened method of an endpoint, with the lock that serialises
// all calls to it (the engine lock) and the lanes of all contexts. It is the Host
// that the method sees.
type instance struct {
	progress.Engine

	// Fixed before any other goroutine sees the instance.
	ep       *Endpoint
	index    int
	method   Method
	info     Info
	settings []about.Setting // when the method was opened
	sender   NowSender       // nil: every send has an Op
	files    FileSender      // nil: the method cannot send from files
	remote   RemoteAccessor  // nil: the method cannot access memory of peers
	// nowBytes is the largest send that is tried without an Op; < 0: none.
	nowBytes int
	sizeMax  [KindRecv]int // the largest send of each kind, in bytes
	trace    *tracer       // nil: there is no trace

	// Guarded by the engine lock.
	lanes   []*lane // by Context.index; nil where the context posted nothing yet
	closing bool    // Close began: nothing is posted any more
	// closeLater: Close could not wait for a handler, so the goroutine that runs
	// the handler closes the method after its call of the method.
	closeLater bool
	begun      *QuickHandler // the handler between Begin and End; nil: none
	private    []byte        // a copy of shared data, while a handler looks at it
	idle       sync.Cond
	calls      uint64 // calls of handlers
	spinsWon   uint64

	// orphaned: closeLater, but the handler panicked. The next Close call
	// closes the method.
	orphaned atomic.Bool
}

// unlock releases the engine lock at the end of a call of the application.
func (in *instance) unlock() {
	if in.begun != nil || in.closeLater {
		in.endCallLocked()
	}
	in.Unlock()
}

// endCallLocked is called when a call of the method has returned, and before a
// handler runs within one. While a handler runs, the method is in the middle of a
// call; when none runs, a method marked closeLater can be closed.
func (in *instance) endCallLocked() {
	if in.begun != nil {
		in.endQuickLocked()
	}
	if in.closeLater && !in.PollsPaused() {
		in.closeLateLocked()
	}
}

// Poll lets the method make progress, after Engine.BeginPoll.
func (in *instance) Poll() bool {
	did := in.method.Poll()
	if in.begun != nil || in.closeLater {
		in.endCallLocked()
	}
	return did
}

// beginQuickLocked prepares a quick handler for its first message since another one, or none, had begun.
func (in *instance) beginQuickLocked(h *QuickHandler, from Addr) bool {
	if in.begun != nil {
		in.endQuickLocked()
	}
	if !(*h).Begin(from) {
		return false
	}
	in.begun = h
	return true
}

func (in *instance) endQuickLocked() {
	h := *in.begun
	in.begun = nil
	h.End()
}

// laneLocked is the lane of a context for messages to or from a, or the reason why there are none.
func (in *instance) laneLocked(c *Context, a Addr) (*lane, error) {
	switch {
	case in.closing:
		return nil, fmt.Errorf("%w: the endpoint, open another", ErrClosed)
	case c.closed.Load():
		return nil, fmt.Errorf("%w: the context, open another", ErrClosed)
	case a.e.dropped.Load():
		return nil, in.ep.unusable(a)
	}
	l := in.existingLocked(c)
	if l == nil {
		for c.index >= len(in.lanes) {
			in.lanes = append(in.lanes, nil)
		}
		l = &lane{ctx: c, in: in}
		in.lanes[c.index] = l
	}
	return l, nil
}

// existingLocked is the lane of a context, or nil.
func (in *instance) existingLocked(c *Context) *lane {
	if c.index < len(in.lanes) {
		if l := in.lanes[c.index]; l != nil && l.ctx == c {
			return l
		}
	}
	return nil
}

// NewAddr implements Host.
func (in *instance) NewAddr(p Peer) Addr {
	return Addr{&addrEntry{in: in, peer: p, text: p.String()}}
}

// Arrived implements Host.
func (in *instance) Arrived(from Addr, class Class, tag Tag, data []byte) bool {
	return in.arrived(from, class, tag, data, false)
}

// ArrivedShared implements Host.
func (in *instance) ArrivedShared(from Addr, class Class, tag Tag, data []byte) bool {
	return in.arrived(from, class, tag, data, true)
}

func (in *instance) arrived(from Addr, class Class, tag Tag, data []byte, shared bool) bool {
	if from.e == nil || from.e.dropped.Load() {
		return true // a message from a dropped peer is discarded
	}
	if in.trace == nil {
		return in.deliver(from, class, tag, data, shared)
	}
	at := in.trace.track.Now()
	accepted := in.deliver(from, class, tag, data, shared)
	if accepted {
		in.trace.arrived(at, from, class, tag, len(data))
	}
	return accepted
}

// deliver gives an unexpected message to its handler, or to the queue.
func (in *instance) deliver(from Addr, class Class, tag Tag, data []byte, shared bool) bool {
	fn := in.ep.handlers[class].Load()
	if fn == nil {
		var accepted bool
		if accepted, fn = in.ep.queueUnexpected(from, class, tag, data); fn == nil {
			return accepted
		}
	}
	quick := in.ep.quick[class].Load()
	if quick != nil && (in.begun == quick || in.beginQuickLocked(quick, from)) && (*quick).Take(from, class, tag, data) {
		in.calls++
		return true
	}
	if shared {
		in.private = append(in.private[:0], data...)
		data = in.private
	}
	in.handleLocked(*fn, Message{From: from, Class: class, Tag: tag, Data: data})
	return true
}

// handleLocked runs a handler with the engine lock released. If the handler
// panics, the panic continues through the method. The engine lock then stays
// free, so that a caller that recovers can still close the endpoint.
func (in *instance) handleLocked(fn func(Message), m Message) {
	in.PausePolls()
	in.calls++
	in.unlock()
	returned := false
	defer func() {
		if !returned {
			in.Lock()
			if in.closeLater { // but not here, within the method's call
				in.closeLater = false
				in.orphaned.Store(true)
			}
			in.handlerDoneLocked()
			in.unlock()
		}
	}()
	fn(m)
	returned = true
	in.Lock()
	in.handlerDoneLocked()
}

// handlerDoneLocked wakes the goroutines that wait because a handler ran.
func (in *instance) handlerDoneLocked() {
	in.ResumePolls()
	if in.PollsPaused() {
		return // another one runs
	}
	if in.closing {
		in.idle.Broadcast()
	}
	in.ep.monitor.WakeAll()
}

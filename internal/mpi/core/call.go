package core

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/internal/queue"
)

// Calls are requests that another process executes when they arrive, without its program's help:
// one-sided operations. serve.go is the other side.
//
// A process has at most callsMax calls at another one that are not answered, so the other side need
// not keep more than their answers. Further calls wait here, in order. Calls that wait for a third
// process do not count: otherwise the calls for which they wait might find no room. The Server
// limits them.

// callsMax limits the calls without an answer, from one process to another.
const callsMax = 64

// callBytesMax is the largest body of a call or an answer. Methods may have a lower limit.
const callBytesMax = 8 << 10

// A Caller is an operation at another process, of one or several calls. The engine calls its
// methods with its lock held: they must be quick, and must not call the engine.
type Caller interface {
	// Next appends the body of the next call to b, at most room bytes, and tells whether it is the
	// last one.
	Next(b []byte, room int) (body []byte, last bool)
	// Returned takes the answer to call n, counted from 0. A breach is an answer that no honest
	// process gives. An err ends the operation: no further call is made.
	Returned(n int, body []byte) (err error, breach bool)
	// Ended is called once, last of all.
	Ended(err error)
}

// A calling is a Caller in progress.
type calling struct {
	s      *Scope
	o      *op
	c      Caller
	waits  bool
	size   int // about how many bytes the bodies have
	sent   int
	back   int
	all    bool // all calls are made, or no more will be made
	queued bool // in calls.waiting
	err    error
	next   *calling // in calls.waiting
}

// Link implements queue.Linked.
func (w *calling) Link() **calling { return &w.next }

// calls are the calls to one process.
type calls struct {
	waiting queue.FIFO[calling, *calling]
	open    map[uint32]openCall // by id
	out     int                 // open calls that count
	id      uint32              // the latest
}

// An openCall is a call without an answer yet.
type openCall struct {
	w *calling
	n int // in its operation
}

// Call makes the calls of an operation at a rank of the scope. waits says that the Server may
// answer late, size about how many bytes the bodies of the calls have. The Request ends with the
// operation.
func (s *Scope) Call(rank int, waits bool, size int, c Caller) (Request, error) {
	p, err := s.peer(rank)
	if err != nil {
		return Request{}, err
	}
	e := s.e
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.acquire(opOther, s)
	o.activate()
	w := &calling{s: s, o: o, c: c, waits: waits, size: size}
	r := Request{o, o.life}
	switch err := p.gone(); {
	case e.closed:
		w.end(errFinalized)
	case s.closed:
		w.end(errFreed)
	case err != nil:
		w.end(err)
	case p == e.self:
		w.local()
	case waits:
		p.call(w)
	default:
		w.queued = true
		p.calls.waiting.Push(w)
		p.makeCalls()
	}
	return r, nil
}

// end ends an operation that has no open calls.
func (w *calling) end(err error) {
	if w.err == nil {
		w.err = err
	}
	w.all = true
	w.c.Ended(w.err)
	w.o.st, w.o.err = Empty, w.err
	w.o.complete()
}

// stop ends an operation with an error, as soon as it has no open calls.
func (w *calling) stop(err error) {
	if w.all = true; w.err == nil {
		w.err = err
	}
	if w.back == w.sent {
		w.end(nil)
	}
}

// makeCalls makes waiting calls, up to the limit of open calls.
func (p *Proc) makeCalls() {
	for p.calls.out < callsMax && !p.calls.waiting.Empty() {
		w := p.calls.waiting.Head()
		p.call(w)
		if w.all && w.queued {
			w.queued = false
			p.calls.waiting.Pop()
		}
	}
}

// call makes the next call of an operation.
func (p *Proc) call(w *calling) {
	e := p.e
	l, err := p.via()
	if err != nil {
		p.dequeue(w)
		w.stop(err)
		return
	}
	if p.calls.open == nil {
		p.calls.open = make(map[uint32]openCall)
	}
	if p.calls.id++; p.calls.id == 0 {
		p.calls.id++
	}
	id := p.calls.id
	h := wire.Call{Credit: p.tell(), ID: id, Context: uint16(w.s.id), Waits: w.waits, Rank: uint32(w.s.rank)}
	room := smallPacketMax
	if w.size > room-wire.CallBytes {
		room = wire.CallBytes + l.callMax
	}
	b := h.Append(e.buffer(room))
	b, w.all = w.c.Next(b, l.callMax)
	p.calls.open[id] = openCall{w, w.sent}
	w.sent++
	if !w.waits {
		p.calls.out++
	}
	if w.all {
		e.ctx.Notify() // for those that wait until the Caller's memory is free
	}
	l.postCall(wire.KindCall, b, wire.CallBytes)
}

// postCall posts a packet whose first bytes are a header. A small one takes no operation of bmi.
func (l *link) postCall(kind wire.Kind, b []byte, head int) {
	e := l.e
	if !l.gone && e.held.Empty() && l.answers.Empty() && len(b) <= smallPacketMax &&
		e.ctx.SendUnexpectedNow(l.addr, class, bmi.Tag(kind), b[:head], b[head:]) {
		e.giveBack(b)
		return
	}
	l.post(kind, b)
}

// dequeue removes an operation that waits, if it does.
func (p *Proc) dequeue(w *calling) {
	if w.queued {
		w.queued = false
		p.calls.waiting.Remove(w)
	}
}

// arriveReturn handles the answer to a call.
func (e *Engine) arriveReturn(p *Proc, r wire.Return, body []byte) {
	c, ok := p.calls.open[r.ID]
	if !ok {
		p.broke("it answered call %d, which waits for no answer", r.ID)
		return
	}
	delete(p.calls.open, r.ID)
	w := c.w
	if !w.waits {
		p.calls.out--
	}
	w.back++
	err, breach := w.c.Returned(c.n, body)
	switch {
	case err != nil:
		p.dequeue(w)
		w.stop(err)
	case w.all && w.back == w.sent:
		w.end(nil)
	}
	if breach {
		p.broke("%v", err)
		return
	}
	p.makeCalls()
}

// failCalls ends all operations at a process.
func (p *Proc) failCalls(err error) {
	p.e.aware = p.e.aware || len(p.calls.open) > 0 || !p.calls.waiting.Empty()
	for id, c := range p.calls.open {
		delete(p.calls.open, id)
		c.w.back++
		p.dequeue(c.w)
		c.w.stop(err)
	}
	p.calls.out = 0
	for w := p.calls.waiting.Pop(); w != nil; w = p.calls.waiting.Pop() {
		w.queued = false
		w.end(err)
	}
}

// Watch connects to a process that this one may wait for without a message, so that its death is
// noticed.
func (p *Proc) Watch() {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	if p != p.e.self && p.gone() == nil && p.any() == nil {
		_, _ = p.via() // if there is no way to it, nothing can be noticed
	}
}

// Gone returns an errclass.ProcFailed if the process has failed or left, else nil.
func (p *Proc) Gone() error {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	return p.gone()
}

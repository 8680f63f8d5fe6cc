package core

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
)

// A Server executes the calls of other processes in a scope, and those of this process to itself.
// The engine calls its methods with its lock held: they must be quick, and must not call the engine
// except through a Reply.
type Server interface {
	// Serve executes a call of a rank. It returns the answer's body, which must not be empty, in
	// memory that it has appended to. If kept is true, r answers the call later; only calls that
	// wait may keep any number of them, and the Server limits these. An error is a breach of the
	// protocol.
	Serve(rank int, body []byte, r Reply, answer []byte) (_ []byte, kept bool, err error)
	// Lost tells that a rank has failed or left. Calls of it that were kept are answered, too; the
	// answers are dropped.
	Lost(rank int)
}

// A Reply answers one call, once.
type Reply struct {
	l     *link // nil: this process called itself
	w     *calling
	id    uint32
	waits bool
}

// Waits tells whether the call is one that may be answered late.
func (r Reply) Waits() bool { return r.waits }

// Serve makes a Server execute the calls in the scope. nil ends that; to the old Server this is the
// loss of all ranks.
func (s *Scope) Serve(v Server) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	old := s.server
	s.server = v
	if old != nil && v == nil {
		for rank := range s.peers {
			old.Lost(rank)
		}
	}
}

// Return answers a call whose Server kept it.
func (s *Scope) Return(r Reply, body []byte) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	r.ReturnLocked(body)
}

// ReturnLocked is Scope.Return for a Server's own methods.
func (r Reply) ReturnLocked(body []byte) {
	if r.w != nil {
		r.w.returned(body)
		return
	}
	l := r.l
	if l.e.kept--; l.e.kept == 0 {
		l.e.changed()
	}
	if l.gone || l.proc.err != nil {
		return
	}
	b := wire.Return{Credit: l.proc.tell(), ID: r.id}.Append(l.e.pool.Take(wire.ReturnBytes + len(body)))
	l.answer(append(b, body...), r.waits)
}

// answer sends a RETURN.
func (l *link) answer(b []byte, waits bool) {
	if len(b) > wire.ReturnBytes+l.callMax {
		l.proc.broke("it asked for %d bytes in one answer", len(b)-wire.ReturnBytes)
		l.e.giveBack(b)
		return
	}
	if !waits {
		l.unanswered-- // of the answers that bmi does not take yet, answersMax and callsMax are kept
	}
	l.postCall(wire.KindReturn, b, wire.ReturnBytes)
}

// arriveCall executes a call.
func (e *Engine) arriveCall(l *link, c wire.Call, body []byte) {
	p := l.proc
	s := e.scopes[ContextID(c.Context)]
	if s != nil && !s.isRank(p, int(c.Rank)) {
		p.broke("it made a call with the rank of another process")
		return
	}
	if !c.Waits {
		if l.unanswered+l.returns >= callsMax+answersMax {
			p.broke("it does not read the answers to its calls")
			return
		}
		l.unanswered++
	}
	r := Reply{l: l, id: c.ID, waits: c.Waits}
	b := wire.Return{Credit: p.tell(), ID: c.ID}.Append(e.pool.Take(smallPacketMax))
	if s == nil || s.server == nil {
		l.answer(b, c.Waits) // with an empty body: perhaps the window was freed here, and not yet there
		return
	}
	answer, kept, err := s.server.Serve(int(c.Rank), body, r, b)
	switch {
	case err != nil:
		e.giveBack(b)
		p.broke("%v", err)
	case kept:
		e.giveBack(b)
		e.kept++
	case !l.gone:
		l.answer(answer, c.Waits)
	}
	e.attend()
}

// attend sees to it that completions are taken while calls wait for their answers, or answers for
// bmi: the program may be doing something else. Completions move answers on, and report that a
// process died that others wait for.
func (e *Engine) attend() {
	if e.attending || e.cfg.Manual || e.kept == 0 && e.lent == 0 && e.held.Empty() {
		return
	}
	e.attending = true
	go func() {
		for {
			seen := e.changes.Load()
			e.mu.Lock()
			if e.closed || e.kept == 0 && e.lent == 0 && e.held.Empty() {
				e.attending = false
				e.mu.Unlock()
				return
			}
			e.mu.Unlock()
			if err := e.await(context.Background(), func() bool { return e.changes.Load() != seen }); err != nil {
				return // the endpoint is closed
			}
		}
	}()
}

// local makes the calls of an operation at this process itself.
func (w *calling) local() {
	for !w.all {
		var body []byte
		body, w.all = w.c.Next(nil, callBytesMax)
		w.sent++
		if w.s.server == nil {
			w.returned(nil)
			continue
		}
		answer, kept, err := w.s.server.Serve(w.s.rank, body, Reply{w: w, waits: w.waits}, nil)
		switch {
		case err != nil:
			w.err, w.all = err, true
			w.returned(nil)
		case !kept:
			w.returned(answer)
		}
	}
}

// returned takes an answer of this process itself, in the order of the calls.
func (w *calling) returned(body []byte) {
	n := w.back
	w.back++
	if w.err == nil {
		if err, _ := w.c.Returned(n, body); err != nil {
			w.err, w.all = err, true
		}
	}
	if w.all && w.back == w.sent {
		w.end(nil)
	}
}

// lostServed tells the Servers of all scopes that a process is gone.
func (p *Proc) lostServed() {
	for _, s := range p.e.scopes {
		if s.server == nil {
			continue
		}
		for rank, q := range s.peers {
			if p == q {
				s.server.Lost(rank)
			}
		}
	}
}

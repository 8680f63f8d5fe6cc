package core

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Cancel asks an operation to end early (MPI-4.1, 3.8.4). The request must still be waited for;
// Status.Cancelled then tells whether it was cancelled.
func (r Request) Cancel() error {
	if r.op == nil {
		return errclass.New(errclass.Request, "a null request cannot be cancelled")
	}
	o, e := r.op, r.op.e
	e.mu.Lock()
	if r.idleLocked() || o.state != opActive {
		e.mu.Unlock()
		return nil // it has ended: Cancel is too late
	}
	if o.kind == opOther {
		end := o.end
		e.mu.Unlock()
		if end != nil {
			end()
		}
		return nil
	}
	defer e.mu.Unlock()
	switch o.at {
	case atPosted, atBacklog, atEarly:
		o.cancelled()
	case atPeer:
		o.takeBack()
	}
	return nil
}

// takeBack asks the peer to drop a send's message that waits there.
func (o *op) takeBack() {
	if l := o.move.l; !o.cancelling && !l.gone {
		o.cancelling = true
		l.post(wire.KindCancel, wire.Cancel{Credit: o.proc.tell(), ID: o.id}.Append(o.e.packetBuffer()))
	}
}

// cancelled ends an op that had no effect.
func (o *op) cancelled() {
	o.withdraw()
	if o.err == nil { // else it was revoked
		o.st = Empty
		o.st.Cancelled = true
	}
	o.complete()
}

// arriveCancel drops a message of a CANCEL if no receive has taken it.
func (e *Engine) arriveCancel(l *link, c wire.Cancel) {
	p := l.proc
	m := p.takeNamed(c.ID)
	if m != nil {
		p.consume(m.charge)
		e.freeEarly(m)
	}
	if !l.gone {
		l.post(wire.KindCancelled, wire.Cancelled{Credit: p.tell(), ID: c.ID, Done: m != nil}.Append(e.packetBuffer()))
	}
}

// arriveCancelled handles the answer to a CANCEL. If the CANCEL was too late, a CTS or ACK arrived
// before.
func (e *Engine) arriveCancelled(l *link, c wire.Cancelled) {
	if !c.Done {
		return
	}
	o := e.sends.get(c.ID)
	if o == nil || o.proc != l.proc || o.at != atPeer || !o.cancelling {
		l.proc.broke("it answered a CANCEL of send %d, but none was sent", c.ID)
		return
	}
	o.cancelled()
}

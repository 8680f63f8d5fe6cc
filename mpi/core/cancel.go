package core

import (
	"github.com/viaduct-hpc/viaduct/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Cancel asks for an operation to end early (MPI-4.1, 3.8.4); Status.Cancelled says whether
// it did. It still has to be waited for.
func (r Request) Cancel() error {
	if r.op == nil {
		return errclass.New(errclass.Request, "a null request cannot be cancelled")
	}
	o, e := r.op, r.op.e
	e.mu.Lock()
	if r.idleLocked() || o.state != opActive {
		e.mu.Unlock()
		return nil // it has ended, and Cancel comes too late
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

// takeBack asks the peer to forget a send that waits there.
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

// arriveCancel takes back a message that no receive has, if it is still there.
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

// arriveCancelled is the answer. If it came too late CTS or ACK came before it.
func (e *Engine) arriveCancelled(l *link, c wire.Cancelled) {
	if !c.Done {
		return
	}
	o := e.sends.get(c.ID)
	if o == nil || o.proc != l.proc || o.at != atPeer || !o.cancelling {
		l.proc.broke("it cancelled send %d, which nobody asked it to", c.ID)
		return
	}
	o.cancelled()
}

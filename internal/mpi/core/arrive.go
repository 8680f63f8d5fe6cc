package core

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// arrive is the handler of all packets. It runs in the goroutine that polls.
func (e *Engine) arrive(m bmi.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	kind := wire.Kind(m.Tag)
	if kind == wire.KindHello {
		e.hello(m.From, m.Data)
		return
	}
	l := e.recent
	if l == nil || l.addr != m.From {
		if l = e.links[m.From]; l == nil || l.proc == nil {
			e.stats.Strays++
			return // from a process that was refused, has failed or never sent HELLO
		}
		e.recent = l
	}
	if l.proc.err != nil || l.proc.left || l.bye {
		e.stats.Strays++
		return
	}
	e.dispatch(l, kind, m.Data)
}

// dispatch handles a packet of a known process.
func (e *Engine) dispatch(l *link, kind wire.Kind, data []byte) {
	var err error
	p := l.proc
	switch kind {
	case wire.KindEager:
		var h wire.Eager
		var message []byte
		if h, message, err = wire.ParseEager(data); err == nil && p.credit(h.Credit) {
			e.arriveEager(l, h, message)
		}
	case wire.KindRTS:
		var r wire.RTS
		if r, err = wire.ParseRTS(data); err == nil && p.credit(r.Credit) {
			e.arriveRTS(l, r)
		}
	case wire.KindCTS:
		var c wire.CTS
		if c, err = wire.ParseCTS(data); err == nil && p.credit(c.Credit) {
			e.granted(l, c)
		}
	case wire.KindAck:
		var a wire.Ack
		if a, err = wire.ParseAck(data); err == nil && p.credit(a.Credit) {
			e.acked(p, a.ID)
		}
	case wire.KindCredit:
		var c wire.Credit
		if c, err = wire.ParseCredit(data); err == nil {
			p.credit(c.Credit)
		}
	default:
		err = e.dispatchRare(l, kind, data)
	}
	if err != nil {
		p.broke("%v", err)
	}
}

func (e *Engine) dispatchRare(l *link, kind wire.Kind, data []byte) error {
	p := l.proc
	switch kind {
	case wire.KindCancel:
		c, err := wire.ParseCancel(data)
		if err == nil && p.credit(c.Credit) {
			e.arriveCancel(l, c)
		}
		return err
	case wire.KindCancelled:
		c, err := wire.ParseCancelled(data)
		if err == nil && p.credit(c.Credit) {
			e.arriveCancelled(l, c)
		}
		return err
	case wire.KindRevoke:
		r, err := wire.ParseRevoke(data)
		if err == nil && p.credit(r.Credit) {
			e.arriveRevoke(p, r)
		}
		return err
	case wire.KindBye:
		b, err := wire.ParseBye(data)
		if err == nil && p.credit(b.Credit) {
			l.bye = true
			p.leave()
		}
		return err
	}
	return e.dispatchCall(l, kind, data)
}

// dispatchCall handles calls and their answers.
func (e *Engine) dispatchCall(l *link, kind wire.Kind, data []byte) error {
	p := l.proc
	switch kind {
	case wire.KindCall:
		c, body, err := wire.ParseCall(data)
		if err == nil && p.credit(c.Credit) {
			e.arriveCall(l, c, body)
		}
		return err
	case wire.KindReturn:
		r, body, err := wire.ParseReturn(data)
		if err == nil && p.credit(r.Credit) {
			e.arriveReturn(p, r, body)
		}
		return err
	}
	return errclass.New(errclass.Intern, "a packet of unknown kind %d", uint32(kind))
}

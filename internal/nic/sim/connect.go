package simnic

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A request is one Connect, as both sides see it.
type request struct {
	id      nic.RequestID
	from    *Port
	addr    string
	private []byte
	timer   *sim.Event // when it fires, the attempt ends
	retry   *sim.Event // when it fires, the request is sent again
	arrived bool       // the remote owner has the request, or an answer is on its way
	over    bool       // the asking side no longer waits
}

// Connect asks the device at addr for a connection.
func (p *Port) Connect(addr string, private []byte, timeout time.Duration) error {
	w := p.w()
	p.dev.enter()
	defer w.leave()
	switch {
	case p.dev.dead || p.state == closed:
		return nic.ErrClosed
	case p.state != idle:
		return errors.New("sim: the port is in use, connect an idle one")
	case len(private) > nic.PrivateDataMax:
		return fmt.Errorf("sim: %d bytes of private data, at most %d", len(private), nic.PrivateDataMax)
	case timeout <= 0:
		timeout = w.opts.ConnectTimeout
	}
	w.requests++
	r := &request{id: w.requests, from: p, addr: addr, private: bytes.Clone(private)}
	p.state, p.call = connecting, r
	r.timer = w.sim.After(timeout, func() { r.fail(nic.ErrTimeout) })
	r.ask()
	return nil
}

// ask sends the request, and repeats it until an answer arrives.
func (r *request) ask() {
	w := r.from.w()
	if r.over {
		return
	}
	r.retry = w.sim.After(10*w.opts.RetransmitAfter, r.ask)
	if r.arrived || w.sim.Chance(w.opts.ConnectLoss) {
		return
	}
	w.sim.Link(r.from.dev.name, r.addr).Send(func(corrupt bool) {
		if !corrupt && !r.arrived && !r.over {
			r.arrive()
		}
	})
}

// arrive is called when the request reaches the other machine.
func (r *request) arrive() {
	w := r.from.w()
	d := w.find(r.addr)
	switch {
	case d == nil:
		r.reply(func() { r.fail(nic.ErrUnreachable) })
	case w.sim.Chance(w.opts.Refuse):
		r.arrived = true
		r.answer(func() { r.fail(&nic.RejectError{Remote: r.addr, Reason: []byte("the simulation says no")}) })
	default:
		r.arrived = true
		d.requests[r.id] = r
		d.report(nic.Event{Kind: nic.EventConnectRequest, Conn: &nic.ConnEvent{
			Request: r.id,
			Remote:  r.from.dev.name,
			Private: bytes.Clone(r.private),
		}})
	}
}

// reply runs fn on the asking side, unless the answer is lost.
func (r *request) reply(fn func()) {
	r.from.w().sim.Link(r.addr, r.from.dev.name).Send(func(corrupt bool) {
		if !corrupt && !r.over {
			fn()
		}
	})
}

// answer is reply for an answer that is repeated until it arrives.
func (r *request) answer(fn func()) {
	if r.over {
		return
	}
	r.reply(fn)
	w := r.from.w()
	w.sim.After(10*w.opts.RetransmitAfter, func() { r.answer(fn) })
}

// cancel ends the wait of the asking side.
func (r *request) cancel() {
	w := r.from.w()
	r.over = true
	w.sim.Cancel(r.timer)
	w.sim.Cancel(r.retry)
}

func (r *request) fail(err error) {
	if r.over {
		return
	}
	r.cancel()
	p := r.from
	p.state, p.call = idle, nil
	p.reportConn(nic.EventConnectFailed, nic.ConnEvent{
		Remote: r.addr,
		Err:    fmt.Errorf("sim: connect to %s: %w", r.addr, err),
	})
}

// take removes a request that waits for an answer.
func (d *Device) take(id nic.RequestID) (*request, error) {
	r := d.requests[id]
	switch {
	case d.dead:
		return nil, nic.ErrClosed
	case r == nil:
		return nil, fmt.Errorf("sim: no connect request %d waits", id)
	}
	delete(d.requests, id)
	return r, nil
}

// Accept joins a request to an idle port.
func (d *Device) Accept(id nic.RequestID, np nic.Port) error {
	d.enter()
	defer d.w.leave()
	p, ok := np.(*Port)
	if !ok || p.dev != d {
		return errors.New("sim: accept with a port of another device")
	}
	if p.state != idle {
		return errors.New("sim: the port is in use, accept with an idle one")
	}
	r, err := d.take(id)
	if err != nil {
		return err
	}
	c := newConn(r.from, p)
	p.state, p.conn = accepting, c
	c.halves[1].put(&packet{deliver: func(*half) { c.accepted(r) }})
	return nil
}

// accepted is called when the asking side learns that it is connected. The first
// thing that it sends confirms the connection.
func (c *conn) accepted(r *request) {
	from, to := c.ends[0], c.ends[1]
	if r.over || from.dev.dead {
		c.halves[0].put(&packet{deliver: func(*half) {
			c.fail(fmt.Errorf("sim: %s does not wait any more: %w", from.dev.name, nic.ErrTimeout))
		}})
		if from.dev.dead {
			c.fail(nic.ErrPeerDied)
		}
		return
	}
	r.cancel()
	from.state, from.conn, from.call = connected, c, nil
	from.reportConn(nic.EventConnected, nic.ConnEvent{Remote: to.dev.name})
	c.halves[0].put(&packet{deliver: func(*half) {
		if to.conn == c && to.state == accepting {
			to.state = connected
			to.reportConn(nic.EventConnected, nic.ConnEvent{Remote: from.dev.name})
		}
	}})
}

// Reject refuses a request.
func (d *Device) Reject(id nic.RequestID, reason []byte) error {
	d.enter()
	defer d.w.leave()
	if len(reason) > nic.RejectReasonMax {
		return fmt.Errorf("sim: a reason of %d bytes, at most %d", len(reason), nic.RejectReasonMax)
	}
	r, err := d.take(id)
	if err != nil {
		return err
	}
	refusal := &nic.RejectError{Remote: d.name, Reason: bytes.Clone(reason)}
	r.answer(func() { r.fail(refusal) })
	return nil
}

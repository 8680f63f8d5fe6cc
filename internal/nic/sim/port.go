package simnic

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// portState is the state of a port.
//
//	idle ──Connect──► connecting ──┬─► connected ──► ended
//	  │ ◄──── failed ─────┘        │                   ▲
//	  ├──Accept──► accepting ──────┘───────────────────┤
//	  └──Disconnect, with receives posted──────────────┘
type portState uint8

const (
	idle       portState = iota
	connecting           // call is the current request
	accepting            // conn is set; the other side may not know it yet
	connected            // conn is set, but it may have broken unnoticed
	ended                // every descriptor came back
	closed               // Close was called
)

// A Port is the simulated NIC's half of one VI.
type Port struct {
	dev    *Device
	attrs  nic.PortAttrs
	cookie any
	state  portState
	conn   *conn
	call   *request

	recvs   []*nic.Descriptor // posted, oldest first
	arrived []lateRecv        // filled, but not yet visible to the owner
	works   []*work           // the send queue, oldest first
	departs time.Duration     // when the latest work will be sent
}

// A lateRecv is a receive whose completion becomes visible at some time.
type lateRecv struct {
	d  *nic.Descriptor
	at time.Duration
}

func (p *Port) w() *World { return p.dev.w }

func (p *Port) report(kind nic.EventKind, d *nic.Descriptor) {
	p.dev.report(nic.Event{Kind: kind, Cookie: p.cookie, Desc: d})
}

func (p *Port) reportConn(kind nic.EventKind, ev nic.ConnEvent) {
	p.dev.report(nic.Event{Kind: kind, Cookie: p.cookie, Conn: &ev})
}

// Disconnect ends the connection or the attempt. An idle port, whose attempt may
// have just failed, returns its posted receives, if there are any.
func (p *Port) Disconnect() {
	p.dev.enter()
	defer p.w().leave()
	p.disconnect()
}

func (p *Port) disconnect() {
	switch p.state {
	case idle:
		if len(p.recvs) > 0 {
			p.end(nil)
		}
	case connecting:
		p.call.cancel()
		p.end(nil)
	case accepting, connected:
		p.conn.leave(p)
		p.end(nil)
	}
}

// end returns every descriptor and reports the end of the connection.
func (p *Port) end(err error) {
	p.state, p.conn, p.call = ended, nil, nil
	for _, late := range p.arrived {
		p.report(nic.EventRecv, late.d)
	}
	p.arrived = nil
	works := p.works
	p.works = nil
	for _, k := range works {
		k.abort()
		p.report(nic.EventSend, k.d)
	}
	recvs := p.recvs
	p.recvs = nil
	for _, d := range recvs {
		d.Status, d.Length, d.Data = nic.StatusFlushed, 0, nil
		p.report(nic.EventRecv, d)
	}
	p.reportConn(nic.EventDisconnected, nic.ConnEvent{Err: err})
}

// Close frees an idle or ended port.
func (p *Port) Close() error {
	p.dev.enter()
	defer p.w().leave()
	switch {
	case p.dev.dead || p.state == closed:
		return nic.ErrClosed
	case p.state != idle && p.state != ended:
		return errors.New("sim: the port is connected, disconnect it first")
	}
	p.state = closed
	p.recvs = nil
	p.takeLoans(func(*loan) bool { return true })
	p.dev.ports = slices.DeleteFunc(p.dev.ports, func(o *Port) bool { return o == p })
	return nil
}

// A conn joins two ports. ends[0] requested it, ends[1] accepted.
type conn struct {
	w      *World
	ends   [2]*Port
	halves [2]half // halves[i] carries what ends[i] sends
	broken bool
}

// A half is one direction of a connection: packets arrive once and in order.
type half struct {
	c      *conn
	from   int
	flight []*packet     // under way, oldest first
	last   time.Duration // arrival of the latest of them
	timer  *sim.Event
	busy   bool // a packet is being delivered, which takes time
	dead   bool
}

// A packet is one message, RDMA request or connection step under way.
type packet struct {
	sent, arrive time.Duration
	rdma         bool // reads or writes the sender's memory when it arrives
	deliver      func(h *half)
}

func newConn(from, to *Port) *conn {
	c := &conn{w: from.w(), ends: [2]*Port{from, to}}
	c.halves[0] = half{c: c, from: 0}
	c.halves[1] = half{c: c, from: 1}
	return c
}

// out is the direction in which a port sends.
func (c *conn) out(p *Port) *half {
	if c.ends[0] == p {
		return &c.halves[0]
	}
	return &c.halves[1]
}

func (h *half) to() *Port { return h.c.ends[1-h.from] }

func (h *half) link() *sim.Link {
	return h.c.w.sim.Link(h.c.ends[h.from].dev.name, h.to().dev.name)
}

// put sends a packet. Faults of the link only cost time, until they have cost so
// much that the connection breaks.
func (h *half) put(pkt *packet) {
	if h.dead {
		return
	}
	w := h.c.w
	link := h.link()
	delay := link.Delay()
	for w.sim.Chance(link.Options().Loss) || w.sim.Chance(link.Options().Corrupt) {
		delay += w.opts.RetransmitAfter
		if delay > w.opts.BreakAfter {
			h.c.fail(fmt.Errorf("%w: %w", errCut, nic.ErrTimeout))
			return
		}
	}
	pkt.sent = w.sim.Now()
	h.last = max(h.last, pkt.sent+delay)
	pkt.arrive = h.last
	h.flight = append(h.flight, pkt)
	h.arm()
}

// arm schedules the arrival of the oldest packet.
func (h *half) arm() {
	if h.timer == nil && !h.busy && !h.dead && len(h.flight) > 0 {
		h.timer = h.c.w.sim.At(h.flight[0].arrive, h.arrival)
	}
}

func (h *half) arrival() {
	h.timer = nil
	pkt := h.flight[0]
	w := h.c.w
	if !h.link().Up() {
		if w.sim.Now()-pkt.sent > w.opts.BreakAfter {
			h.c.fail(fmt.Errorf("%w: %w", errCut, nic.ErrTimeout))
			return
		}
		pkt.arrive = w.sim.Now() + w.opts.RetransmitAfter
		h.arm()
		return
	}
	h.flight = h.flight[1:]
	pkt.deliver(h)
	h.arm()
}

func (h *half) kill() {
	h.dead = true
	h.flight = nil
	h.c.w.sim.Cancel(h.timer)
	h.timer = nil
}

// leave ends one side in an orderly way: what it sent still arrives, then the other
// side sees the end. RDMA is the exception, because its owner is about to get the
// memory back: it is cancelled, with everything that was sent after it.
func (c *conn) leave(p *Port) {
	out := c.out(p)
	c.halves[1-out.from].kill()
	if out.dead {
		return
	}
	if i := slices.IndexFunc(out.flight, func(pkt *packet) bool { return pkt.rdma }); i >= 0 {
		out.flight = out.flight[:i]
	}
	if out.busy {
		// A half-done RDMA stays half done.
		out.busy = false
		out.flight = nil
	}
	if len(out.flight) == 0 {
		c.w.sim.Cancel(out.timer)
		out.timer = nil
	}
	out.put(&packet{deliver: func(h *half) {
		h.kill()
		if other := h.to(); other.conn == c {
			other.end(fmt.Errorf("sim: the remote side disconnected: %w", nic.ErrClosed))
		}
	}})
}

// fail breaks the connection. Each side notices at its own time.
func (c *conn) fail(err error) {
	if c.broken {
		return
	}
	c.broken = true
	c.halves[0].kill()
	c.halves[1].kill()
	for _, p := range c.ends {
		c.w.sim.After(c.w.sim.Between(0, c.w.opts.NoticeMax), func() {
			if p.conn == c {
				p.end(err)
			}
		})
	}
}

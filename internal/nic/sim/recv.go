package simnic

import (
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var errNoRecv = errors.New("sim: a message came and no receive was posted")

// PostRecv appends a receive descriptor.
func (p *Port) PostRecv(d *nic.Descriptor) error {
	p.dev.enter()
	defer p.w().leave()
	switch {
	case p.dev.dead || p.state == closed:
		return nic.ErrClosed
	case p.state == ended:
		return nic.ErrNotConnected
	case d.Op != nic.OpRecv:
		return fmt.Errorf("sim: a descriptor of kind %d on the receive queue", d.Op)
	case len(d.Segments) > p.dev.caps.SegmentsMax:
		return fmt.Errorf("sim: %d segments, at most %d", len(d.Segments), p.dev.caps.SegmentsMax)
	case len(p.recvs) >= p.attrs.RecvDepth || p.dev.turnAway():
		return nic.ErrAgain
	}
	if !p.stillCovered(d) {
		return errors.New("sim: a receive into memory that is not registered under the port's tag")
	}
	p.takeLoan(d)
	d.Status = nic.StatusPending
	p.recvs = append(p.recvs, d)
	return nil
}

// A message is the content of a send, or the immediate data of an RDMA write.
type message struct {
	data      []byte
	length    int // of the payload; more than len(data) if RDMA placed it
	flags     nic.Flags
	immediate uint32
}

// receive puts a message into the oldest posted receive, and returns the status
// for the sender.
func (p *Port) receive(m message) nic.Status {
	if len(p.recvs) == 0 {
		return nic.StatusNoDescriptor
	}
	d := p.recvs[0]
	p.recvs = p.recvs[1:]
	d.Flags = d.Flags&^nic.FlagImmediate | m.flags&nic.FlagImmediate
	d.Immediate = m.immediate
	d.Length, d.Data, d.Status = m.length, nil, nic.StatusSuccess
	switch {
	case !p.stillCovered(d):
		d.Length, d.Status = 0, nic.StatusProtectionError
	case !p.place(d, m.data):
		d.Length, d.Status = 0, nic.StatusLengthError
	}
	p.late(d)
	return d.Status
}

// stillCovered reports whether the memory of a receive is still registered.
func (p *Port) stillCovered(d *nic.Descriptor) bool {
	for _, s := range d.Segments {
		if !p.dev.covers(s, p.attrs.Tag) {
			return false
		}
	}
	return true
}

// place copies the data to the descriptor's memory; false if it is too long.
func (p *Port) place(d *nic.Descriptor, data []byte) bool {
	w := p.w()
	room := 0
	for _, s := range d.Segments {
		room += len(s.Data)
	}
	if d.Flags&nic.FlagLoan != 0 && (len(data) > room || w.sim.Chance(0.7)) {
		switch caps := p.dev.caps; {
		case len(data) <= caps.InlineBytesMax:
			d.Data, d.Shared = d.Inline[:copy(d.Inline[:], data)], false
			return true
		case caps.LoansRecv:
			p.lend(d, data)
			return true
		}
	}
	if len(data) > room {
		return false
	}
	for _, s := range d.Segments {
		data = data[copy(s.Data, data):]
	}
	return true
}

// late makes a receive visible some time after it was filled.
func (p *Port) late(d *nic.Descriptor) {
	w := p.w()
	at := w.sim.Now() + w.sim.Between(0, w.opts.RecvDelayMax)
	if n := len(p.arrived); n > 0 {
		at = max(at, p.arrived[n-1].at)
	}
	if at == w.sim.Now() && len(p.arrived) == 0 {
		p.report(nic.EventRecv, d)
		return
	}
	p.arrived = append(p.arrived, lateRecv{d: d, at: at})
	w.sim.At(at, p.surface)
}

func (p *Port) surface() {
	now := p.w().sim.Now()
	for len(p.arrived) > 0 && p.arrived[0].at <= now {
		d := p.arrived[0].d
		p.arrived = p.arrived[1:]
		p.report(nic.EventRecv, d)
	}
}

// backDelay draws the travel time of an answer.
func (h *half) backDelay() time.Duration {
	return h.c.w.sim.Link(h.to().dev.name, h.c.ends[h.from].dev.name).Delay()
}

package simnic

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A directDevice is a Device that is a nic.DirectDevice, too (Options.Direct).
type directDevice struct {
	*Device
	lent *Port // between a Take that lent memory and its Return
}

// A directPort is a Port that is a nic.DirectPort, too.
type directPort struct {
	*Port
	claimed []byte
}

// OpenPort makes an unconnected port.
func (d *directDevice) OpenPort(attrs nic.PortAttrs, cookie any) (nic.Port, error) {
	p, err := d.Device.OpenPort(attrs, cookie)
	if err != nil {
		return nil, err
	}
	return &directPort{Port: p.(*Port)}, nil
}

// Accept joins a request to an idle port.
func (d *directDevice) Accept(id nic.RequestID, np nic.Port) error {
	if p, ok := np.(*directPort); ok {
		np = p.Port
	}
	return d.Device.Accept(id, np)
}

// Claim returns memory for a message. Now and then it refuses.
func (p *directPort) Claim(length int) []byte {
	p.dev.enter()
	defer p.w().leave()
	if p.dev.dead || p.state != connected || p.attrs.Reliability == nic.ReliableReception || length > p.dev.caps.MTUBytes ||
		p.w().sim.Chance(0.2) {
		return nil
	}
	p.claimed = make([]byte, length)
	return p.claimed
}

// Publish sends the claimed message. Whatever happens next, it was sent.
func (p *directPort) Publish() {
	p.dev.enter()
	defer p.w().leave()
	d := &nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: p.claimed}}}
	p.claimed = nil
	k := &work{p: p.Port, d: d}
	k.finishNow(d.Size())
}

// Take takes the oldest message, unless something else comes first. Now and then it
// leaves the message to Poll.
func (d *directDevice) Take(to *[nic.InlineMax]byte) (cookie any, data []byte, lent, idle bool) {
	d.enter()
	defer d.w.leave()
	d.checkReturned()
	if d.dead || len(d.events) == 0 {
		return nil, nil, false, false
	}
	ev := &d.events[0]
	i := slices.IndexFunc(d.ports, func(p *Port) bool { return p.cookie == ev.Cookie })
	if ev.Kind != nic.EventRecv || i < 0 || d.ports[i].state != connected || d.w.sim.Chance(0.2) {
		return nil, nil, false, false
	}
	p, recv := d.ports[i], ev.Desc
	if recv.Status != nic.StatusSuccess || recv.Flags&nic.FlagImmediate != 0 || recv.Data == nil {
		return nil, nil, false, false
	}
	if l := d.lentBy(ev); l != nil {
		l.d, l.taken, l.shown = nil, true, true
		d.lent, data, lent = p, l.mem, true
	} else {
		data = to[:copy(to[:], recv.Data)]
	}
	d.events = slices.Delete(d.events, 0, 1)
	recv.Status, recv.Length, recv.Data = nic.StatusPending, 0, nil
	p.recvs = append(p.recvs, recv)
	return p.cookie, data, lent, false
}

// Poll reports events.
func (d *directDevice) Poll(out []nic.Event) int {
	d.checkReturned()
	return d.Device.Poll(out)
}

func (d *directDevice) checkReturned() {
	if d.lent != nil {
		panic("sim: a Take or Poll before the Return of what Take lent")
	}
}

// Return ends the loan of the last Take.
func (d *directDevice) Return() {
	d.enter()
	defer d.w.leave()
	d.lent.takeLoans(func(l *loan) bool { return l.taken })
	d.lent = nil
}

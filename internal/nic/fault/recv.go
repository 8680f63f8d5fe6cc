package fault

import (
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// PostRecv may be refused, or find the connection broken.
func (p *port) PostRecv(d *nic.Descriptor) error {
	switch p.dev.at(OnPostRecv, p.unreliable) {
	case Again:
		return p.dev.turnAway()
	case Break:
		p.breakUp()
	}
	return p.inner.PostRecv(d)
}

// A lateEvent is held back until the device has been polled a number of times.
type lateEvent struct {
	ev    nic.Event
	polls int
}

// hold holds an event back, behind earlier ones of its port.
func (p *port) hold(ev nic.Event, polls int) {
	if len(p.late) == 0 {
		p.dev.late = append(p.dev.late, p)
		p.dev.wake()
	}
	p.late = append(p.late, lateEvent{ev: ev, polls: p.dev.polls + polls})
}

// Poll reports events that were held back long enough, then those of the wrapped
// device, with faults.
func (d *Device) Poll(out []nic.Event) int {
	d.polls++
	d.again = false
	n := d.release(out)
	room := out[n:]
	if len(room) == 0 {
		return n
	}
	got := d.inner.Poll(room)
	for _, ev := range room[:got] {
		p, ok := ev.Cookie.(*port)
		if !ok {
			out[n] = ev
			n++
			continue
		}
		ev.Cookie = p.cookie
		if p.spoil(&ev) {
			out[n] = ev
			n++
		}
	}
	return n
}

// spoil decides about one event of the wrapped device. It returns false if the
// event is not reported now.
func (p *port) spoil(ev *nic.Event) bool {
	kind := None
	switch {
	case ev.Desc == nil:
		p.connection(ev)
	case ev.Desc.Status != nic.StatusSuccess:
	case ev.Kind == nic.EventRecv && p.gap:
		// The message before it was lost: on a reliable port no later one may
		// arrive.
		ev.Desc.Status, ev.Desc.Length, ev.Desc.Data = nic.StatusFlushed, 0, nil
	case ev.Kind == nic.EventRecv:
		kind = p.dev.at(OnRecvEvent, p.unreliable)
	default:
		kind = p.dev.at(OnSendEvent, p.unreliable)
	}
	switch kind {
	case Drop:
		if p.inner.PostRecv(ev.Desc) == nil {
			return false
		}
	case Fail:
		ev.Desc.Status, ev.Desc.Length, ev.Desc.Data = nic.StatusTransportError, 0, nil
		p.gap = p.gap || (ev.Kind == nic.EventRecv && !p.unreliable)
		p.breakUp()
	case Break:
		p.breakUp()
	case Delay:
		p.hold(*ev, p.dev.delay())
		return false
	}
	if len(p.late) > 0 {
		p.hold(*ev, 0)
		return false
	}
	return true
}

// release reports events that were held back long enough, in order for each port.
func (d *Device) release(out []nic.Event) (n int) {
	keep := d.late[:0]
	for _, p := range d.late {
		k := 0
		for k < len(p.late) && n < len(out) && p.late[k].polls <= d.polls {
			out[n] = p.late[k].ev
			n++
			k++
		}
		if p.late = p.late[k:]; len(p.late) > 0 {
			keep = append(keep, p)
		}
	}
	clear(d.late[len(keep):])
	d.late = keep
	return n
}

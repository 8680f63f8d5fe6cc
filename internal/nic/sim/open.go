package simnic

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Name is "sim".
func (w *World) Name() string { return "sim" }

// Open opens a device with the capabilities of the world's Options.
func (w *World) Open(cfg nic.Config) (nic.Device, error) { return w.open(cfg, w.opts.Caps) }

// A Provider opens devices in a World.
type Provider struct {
	w    *World
	caps nic.Caps
}

// Provider opens devices with the given capabilities.
func (w *World) Provider(caps nic.Caps) *Provider { return &Provider{w: w, caps: caps} }

// Name is "sim".
func (p *Provider) Name() string { return p.w.Name() }

// Open opens a device in the world.
func (p *Provider) Open(cfg nic.Config) (nic.Device, error) { return p.w.open(cfg, p.caps) }

// A Device is one simulated NIC.
type Device struct {
	w     *World
	name  string
	caps  nic.Caps
	clock func() time.Duration
	dead  bool // closed or crashed

	ports    []*Port
	regions  map[nic.Handle]*region
	handles  nic.Handle
	requests map[nic.RequestID]*request
	events   []nic.Event // not reported yet, oldest first
	loans    []loan      // oldest first

	sleep
}

func (w *World) open(cfg nic.Config, caps nic.Caps) (nic.Device, error) {
	w.enter()
	defer w.leave()
	d := &Device{
		w:        w,
		name:     cfg.Listen,
		caps:     caps,
		clock:    cfg.Clock,
		regions:  make(map[nic.Handle]*region),
		requests: make(map[nic.RequestID]*request),
	}
	if d.name == "" {
		w.names++
		d.name = fmt.Sprintf("unnamed-%d", w.names)
	}
	if w.find(d.name) != nil {
		return nil, fmt.Errorf("sim: open %q: %w", d.name, nic.ErrNameTaken)
	}
	w.devices = append(w.devices, d)
	if w.opts.Mode == Real {
		d.signal = make(chan struct{}, 1)
		return &sleepingDevice{d}, nil
	}
	if w.opts.Direct {
		return &directDevice{Device: d}, nil
	}
	return d, nil
}

// Caps describes the device.
func (d *Device) Caps() nic.Caps { return d.caps }

// LocalAddr is the device's name.
func (d *Device) LocalAddr() string { return d.name }

// OpenPort makes an unconnected port.
func (d *Device) OpenPort(attrs nic.PortAttrs, cookie any) (nic.Port, error) {
	d.enter()
	defer d.w.leave()
	switch {
	case d.dead:
		return nil, nic.ErrClosed
	case attrs.Reliability > d.caps.Reliability:
		return nil, fmt.Errorf("sim: reliability level %d, the device has %d at most", attrs.Reliability, d.caps.Reliability)
	case attrs.RecvDepth < 1 || attrs.RecvDepth > d.caps.RecvDepthMax || attrs.SendDepth < 1 || attrs.SendDepth > d.caps.SendDepthMax:
		return nil, fmt.Errorf("sim: queues of %d and %d descriptors, the device has 1 to %d and %d",
			attrs.RecvDepth, attrs.SendDepth, d.caps.RecvDepthMax, d.caps.SendDepthMax)
	}
	p := &Port{dev: d, attrs: attrs, cookie: cookie}
	d.ports = append(d.ports, p)
	return p, nil
}

// A region is registered memory.
type region struct {
	mem    []byte
	access nic.Access
	tag    nic.ProtectionTag
	inUse  int  // remote accesses under way
	closed bool // Deregister was called, or the device is dead
}

// Register makes memory known to the device.
func (d *Device) Register(mem []byte, access nic.Access, tag nic.ProtectionTag) (nic.Handle, error) {
	d.enter()
	defer d.w.leave()
	if d.dead {
		return 0, nic.ErrClosed
	}
	// Handles are neither small nor consecutive, so that an invented handle names
	// nothing.
	d.handles += nic.Handle(1 + d.w.sim.Rand().IntN(1000))
	h := d.handles<<16 | nic.Handle(d.w.sim.Rand().IntN(1<<16))
	d.regions[h] = &region{mem: mem, access: access, tag: tag}
	return h, nil
}

// Deregister withdraws memory.
func (d *Device) Deregister(h nic.Handle) error {
	d.enter()
	defer d.w.leave()
	r := d.regions[h]
	switch {
	case d.dead:
		return nil
	case r == nil:
		return nic.ErrUnknownHandle
	}
	r.closed = true
	if r.inUse > 0 {
		return nic.ErrBusy
	}
	delete(d.regions, h)
	return nil
}

// covers reports whether a local segment lies in registered memory of the tag.
func (d *Device) covers(s nic.Segment, tag nic.ProtectionTag) bool {
	r := d.regions[s.Handle]
	if r == nil || r.closed || r.tag != tag {
		return false
	}
	_, ok := r.slice(addrOf(s.Data), len(s.Data))
	return ok || len(s.Data) == 0
}

// slice returns the part of a region that starts at an address.
func (r *region) slice(addr uint64, size int) ([]byte, bool) {
	base := addrOf(r.mem)
	off := addr - base
	if addr < base || off > uint64(len(r.mem)) || uint64(size) > uint64(len(r.mem))-off {
		return nil, false
	}
	return r.mem[off : off+uint64(size)], true
}

func addrOf(mem []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) }

// Poll reports events.
func (d *Device) Poll(out []nic.Event) int {
	d.enter()
	defer d.w.leave()
	if len(d.events) == 0 && d.w.opts.Mode == Polled {
		d.w.sim.Step()
	}
	d.again = false
	n := copy(out, d.events[:d.show(len(out))])
	rest := copy(d.events, d.events[n:])
	clear(d.events[rest:])
	d.events = d.events[:rest]
	return n
}

// report queues an event and wakes the owner.
func (d *Device) report(ev nic.Event) {
	if !d.dead {
		d.events = append(d.events, ev)
		d.kick()
	}
}

// NextDeadline is the time of the world's next event, in the Real mode. Otherwise
// the test drives the world, and the device needs nothing.
func (d *Device) NextDeadline() (at time.Duration, ok bool) {
	if d.w.opts.Mode != Real {
		return 0, false
	}
	d.w.enter()
	next, ok := d.w.sim.Next()
	now := d.w.sim.Now()
	d.w.leave()
	if !ok {
		return 0, false
	}
	if d.clock != nil {
		return d.clock() + next - now, true
	}
	return next, true
}

// Close ends the device in an orderly way: sent messages still arrive, then the other sides see the
// connections end.
func (d *Device) Close() error {
	d.enter()
	defer d.w.leave()
	if d.dead {
		return nil
	}
	for _, p := range d.ports {
		p.disconnect()
	}
	d.end()
	return nil
}

func (d *Device) crash() {
	d.end()
	for _, p := range d.ports {
		if p.call != nil {
			p.call.cancel()
		}
		if p.conn != nil {
			p.conn.fail(fmt.Errorf("sim: %s crashed: %w", d.name, nic.ErrPeerDied))
		}
	}
}

// end makes the device silent and its memory unreachable.
func (d *Device) end() {
	d.dead = true
	d.events = nil
	for _, r := range d.regions {
		r.closed = true
	}
	for _, r := range d.requests {
		r.arrived = false // it is repeated, and finds no device
	}
	d.w.devices = slices.DeleteFunc(d.w.devices, func(o *Device) bool { return o == d })
	d.kick()
}

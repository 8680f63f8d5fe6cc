package trace

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Options select what the lines show.
type Options struct {
	// Clock is the source of the time at the start of every line; nil omits the
	// time.
	Clock func() time.Duration
	// Bytes is how much of a payload is shown, in bytes, as hexadecimal.
	Bytes int
}

// A Provider traces the devices of another one.
type Provider struct {
	inner nic.Provider
	sink  Sink
	opts  Options
}

// Wrap traces the devices that p opens.
func Wrap(p nic.Provider, sink Sink, opts Options) *Provider {
	return &Provider{inner: p, sink: sink, opts: opts}
}

// Name is that of the wrapped provider: addresses stay the same.
func (p *Provider) Name() string { return p.inner.Name() }

// Open opens a device of the wrapped provider. The result has the same optional
// interfaces.
func (p *Provider) Open(cfg nic.Config) (nic.Device, error) {
	dev, err := p.inner.Open(cfg)
	d := &Device{
		inner:   dev,
		sink:    p.sink,
		opts:    p.opts,
		name:    cfg.Listen,
		posts:   make(map[*nic.Descriptor]uint64),
		handles: make(map[nic.Handle]int),
	}
	if err != nil {
		d.linef("open %q: %v", cfg.Listen, err)
		return nil, err
	}
	d.name = dev.LocalAddr()
	d.linef("open %q", cfg.Listen)
	return d.withOptional(), nil
}

// A Device traces another one.
type Device struct {
	inner   nic.Device
	sink    Sink
	opts    Options
	name    string
	ports   int
	posted  uint64                     // numbers descriptors
	posts   map[*nic.Descriptor]uint64 // those that the device owns
	handles map[nic.Handle]int         // the numbers in the lines
}

type (
	sleeper struct {
		*Device
		nic.Sleeper
	}
	allocator struct {
		*Device
		nic.Allocator
	}
	sleeperAllocator struct {
		*Device
		nic.Sleeper
		nic.Allocator
	}
)

// withOptional is the device with the optional interfaces of the wrapped one.
func (d *Device) withOptional() nic.Device {
	s, sleeps := d.inner.(nic.Sleeper)
	a, allocs := d.inner.(nic.Allocator)
	switch {
	case sleeps && allocs:
		return sleeperAllocator{d, s, a}
	case sleeps:
		return sleeper{d, s}
	case allocs:
		return allocator{d, a}
	}
	return d
}

// Unwrap is the wrapped device.
func (d *Device) Unwrap() nic.Device { return d.inner }

func (d *Device) linef(format string, args ...any) {
	text := d.name + " " + fmt.Sprintf(format, args...)
	if d.opts.Clock != nil {
		text = d.opts.Clock().String() + " " + text
	}
	d.sink.Line(text)
}

// outcome describes the result of a call.
func outcome(err error) string {
	if err != nil {
		return err.Error()
	}
	return "ok"
}

// Caps are the wrapped device's.
func (d *Device) Caps() nic.Caps { return d.inner.Caps() }

// LocalAddr is the wrapped device's.
func (d *Device) LocalAddr() string { return d.inner.LocalAddr() }

// LinkStats implements nic.LinkCounter for the device below.
func (d *Device) LinkStats() netstats.Link { return nic.LinkStatsOf(d.inner) }

// OwnCounts implements nic.OwnCounter for the device below.
func (d *Device) OwnCounts() []about.Count { return nic.OwnCountsOf(d.inner) }

// PacketStats implements nic.PacketCounter for the device below.
func (d *Device) PacketStats() netstats.Packets { return nic.PacketStatsOf(d.inner) }

// NextDeadline is the wrapped device's.
func (d *Device) NextDeadline() (at time.Duration, ok bool) { return d.inner.NextDeadline() }

// Register traces a registration, and gives the handle a number.
func (d *Device) Register(mem []byte, access nic.Access, tag nic.ProtectionTag) (nic.Handle, error) {
	h, err := d.inner.Register(mem, access, tag)
	if err == nil {
		d.handles[h] = len(d.handles) + 1
	}
	d.linef("register m%d %dB access=%d tag=%d: %s", d.handles[h], len(mem), access, tag, outcome(err))
	return h, err
}

// Deregister traces.
func (d *Device) Deregister(h nic.Handle) error {
	err := d.inner.Deregister(h)
	d.linef("deregister m%d: %s", d.handles[h], outcome(err))
	return err
}

// Close traces.
func (d *Device) Close() error {
	err := d.inner.Close()
	d.linef("close: %s", outcome(err))
	return err
}

// Poll traces every event.
func (d *Device) Poll(out []nic.Event) int {
	n := d.inner.Poll(out)
	for i := range out[:n] {
		ev := &out[i]
		p, _ := ev.Cookie.(*port)
		if p != nil {
			ev.Cookie = p.cookie
		}
		d.event(p, ev)
	}
	return n
}

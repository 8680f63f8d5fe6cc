package fault

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A Provider injects faults into the devices of another one.
type Provider struct {
	inner nic.Provider
	opts  Options
	opens plan // of Open itself
}

// Wrap injects faults into the devices that p opens.
func Wrap(p nic.Provider, opts Options) *Provider {
	w := &Provider{inner: p, opts: opts}
	w.opens.opts = &w.opts
	return w
}

// Name is that of the wrapped provider: addresses stay the same.
func (p *Provider) Name() string { return p.inner.Name() }

// Open opens a device of the wrapped provider. The result has the same optional
// interfaces.
func (p *Provider) Open(cfg nic.Config) (nic.Device, error) {
	if p.opens.at(OnOpen, false) == Fail {
		return nil, fmt.Errorf("fault: open %q: %w", cfg.Listen, ErrInjected)
	}
	dev, err := p.inner.Open(cfg)
	if err != nil {
		return nil, err
	}
	d := &Device{inner: dev, clock: cfg.Clock, plan: plan{opts: &p.opts}}
	return d.withOptional(), nil
}

// A Device injects faults into another one.
type Device struct {
	inner nic.Device
	clock func() time.Duration
	plan
	polls int     // number of Poll calls
	late  []*port // ports with held events, in the order in which holding began
	again bool    // a post was refused with ErrAgain for no reason: poll and try again
}

type (
	sleeper struct {
		*Device
		sleep
	}
	allocator struct {
		*Device
		nic.Allocator
	}
	sleeperAllocator struct {
		*Device
		sleep
		nic.Allocator
	}
)

// sleep does not let the owner sleep while events are held back, or after a post
// was refused: only a poll makes progress then.
type sleep struct {
	nic.Sleeper
	d *Device
}

func (s sleep) Arm() bool { return len(s.d.late) == 0 && !s.d.again && s.Sleeper.Arm() }

// turnAway makes a post end with nic.ErrAgain although there is room.
func (d *Device) turnAway() error {
	d.again = true
	d.wake()
	return nic.ErrAgain
}

// wake ends a sleep that began before there was a reason to poll.
func (d *Device) wake() {
	if s, ok := d.inner.(nic.Sleeper); ok {
		s.Wake()
	}
}

// withOptional is the device with the optional interfaces of the wrapped one.
func (d *Device) withOptional() nic.Device {
	s, sleeps := d.inner.(nic.Sleeper)
	a, allocs := d.inner.(nic.Allocator)
	switch {
	case sleeps && allocs:
		return sleeperAllocator{d, sleep{s, d}, a}
	case sleeps:
		return sleeper{d, sleep{s, d}}
	case allocs:
		return allocator{d, a}
	}
	return d
}

// Unwrap is the wrapped device.
func (d *Device) Unwrap() nic.Device { return d.inner }

// Injected returns how often a kind of fault was injected on this device.
func (d *Device) Injected(kind Kind) uint64 { return d.injected[kind] }

// Caps are the wrapped device's, except that descriptors may be delayed.
func (d *Device) Caps() nic.Caps {
	caps := d.inner.Caps()
	caps.RDMANowBytes = 0
	return caps
}

// LocalAddr is the wrapped device's.
func (d *Device) LocalAddr() string { return d.inner.LocalAddr() }

// Register may fail.
func (d *Device) Register(mem []byte, access nic.Access, tag nic.ProtectionTag) (nic.Handle, error) {
	if d.at(OnRegister, false) == Fail {
		return 0, fmt.Errorf("fault: register %d bytes: %w", len(mem), ErrInjected)
	}
	return d.inner.Register(mem, access, tag)
}

// Deregister is the wrapped device's.
func (d *Device) Deregister(h nic.Handle) error { return d.inner.Deregister(h) }

// LinkStats implements nic.LinkCounter for the device below.
func (d *Device) LinkStats() netstats.Link { return nic.LinkStatsOf(d.inner) }

// OwnCounts implements nic.OwnCounter for the device below.
func (d *Device) OwnCounts() []about.Count { return nic.OwnCountsOf(d.inner) }

// PacketStats implements nic.PacketCounter for the device below.
func (d *Device) PacketStats() netstats.Packets { return nic.PacketStatsOf(d.inner) }

// NextDeadline is now while events are held back, else the wrapped device's.
func (d *Device) NextDeadline() (at time.Duration, ok bool) {
	at, ok = d.inner.NextDeadline()
	if len(d.late) > 0 {
		if d.clock != nil {
			return d.clock(), true
		}
		return 0, true
	}
	return at, ok
}

// Close is the wrapped device's.
func (d *Device) Close() error {
	d.late = nil
	return d.inner.Close()
}

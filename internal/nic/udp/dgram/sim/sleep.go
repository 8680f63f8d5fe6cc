package simdgram

import (
	"slices"
	"time"
)

// sleep is the state of a sleeping device, in the Real mode.
type sleep struct {
	signal chan struct{} // holds one token if the sleeper must check; nil in other modes
	woken  bool          // Wake was called and no Sleep has returned for it
	until  time.Duration // while sleeping: when it checks by itself; < 0: never
}

// A sleepingDevice is a Device of the Real mode, which is a dgram.Sleeper. (A
// device in simulated time is not.)
type sleepingDevice struct {
	*Device
}

func (s *sleep) kick() {
	if s.signal == nil {
		return
	}
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// Arm makes arrivals and room end Sleep; false if there already is one.
func (d *sleepingDevice) Arm() bool {
	d.host.n.enter()
	defer d.host.n.leave()
	return !d.ready()
}

// Disarm has nothing to undo: wake-ups cost nothing here.
func (d *sleepingDevice) Disarm() {}

// Wake ends the current or the next Sleep.
func (d *sleepingDevice) Wake() {
	d.host.n.enter()
	d.woken = true
	d.kick()
	d.host.n.leave()
}

// Sleep returns on an arrival, room, a Wake or when timeout passes. While it waits
// it runs due events of the world.
func (d *sleepingDevice) Sleep(timeout time.Duration) {
	n := d.host.n
	deadline := time.Duration(-1)
	if timeout >= 0 {
		deadline = time.Since(n.start) + timeout
	}
	for {
		wait, ok := d.nap(deadline)
		if !ok {
			return
		}
		d.block(wait)
		n.mu.Lock()
		n.sleeping = slices.DeleteFunc(n.sleeping, func(o *Device) bool { return o == d.Device })
		n.mu.Unlock()
	}
}

// nap returns how long to block before the world must be checked again (< 0: until
// signalled). ok is false if there is a reason to return.
func (d *sleepingDevice) nap(deadline time.Duration) (wait time.Duration, ok bool) {
	n := d.host.n
	n.enter()
	defer n.leave()
	now := time.Since(n.start)
	if d.woken || d.ready() || (deadline >= 0 && now >= deadline) {
		d.woken = false
		return 0, false
	}
	d.until = deadline
	if next, some := n.sim.Next(); some && (deadline < 0 || next < deadline) {
		d.until = next
	}
	n.sleeping = append(n.sleeping, d.Device)
	if d.until < 0 {
		return -1, true
	}
	return max(d.until-now, 0), true
}

func (d *sleepingDevice) block(wait time.Duration) {
	if wait < 0 {
		<-d.signal
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-d.signal:
	case <-timer.C:
	}
}

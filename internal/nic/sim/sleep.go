package simnic

import (
	"slices"
	"time"
)

// sleep is the state of a sleeping device, in the Real mode.
type sleep struct {
	signal chan struct{} // holds one token if the sleeper must check; nil in other modes
	woken  bool          // Wake was called and no Sleep has returned for it
	again  bool          // a post was refused for no reason: poll and try again
	until  time.Duration // while sleeping: when it checks by itself; < 0: never
}

// A sleepingDevice is a Device of the Real mode, which is a nic.Sleeper. (A device
// in simulated time is not.)
type sleepingDevice struct {
	*Device
}

// turnAway decides whether a post is refused although there is room. No event
// follows such a refusal, so the owner must not sleep.
func (d *Device) turnAway() bool {
	if !d.w.sim.Chance(d.w.opts.Again) {
		return false
	}
	d.again = true
	d.kick()
	return true
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

// Arm makes arrivals end Sleep; false if something is already there.
func (d *sleepingDevice) Arm() bool {
	d.w.enter()
	defer d.w.leave()
	return len(d.events) == 0 && !d.dead && !d.again
}

// Disarm has nothing to undo: wake-ups cost nothing here.
func (d *sleepingDevice) Disarm() {}

// Wake ends the current or the next Sleep.
func (d *sleepingDevice) Wake() {
	d.w.enter()
	d.woken = true
	d.kick()
	d.w.leave()
}

// Sleep returns on an arrival, a Wake or when timeout passes. While it waits it
// runs due events of the world.
func (d *sleepingDevice) Sleep(timeout time.Duration) {
	deadline := time.Duration(-1)
	if timeout >= 0 {
		deadline = time.Since(d.w.start) + timeout
	}
	for {
		wait, ok := d.nap(deadline)
		if !ok {
			return
		}
		d.block(wait)
		d.w.mu.Lock()
		d.w.sleeping = slices.DeleteFunc(d.w.sleeping, func(o *Device) bool { return o == d.Device })
		d.w.mu.Unlock()
	}
}

// nap returns how long to block before the world must be checked again (< 0: until
// signalled). ok is false if there is a reason to return.
func (d *sleepingDevice) nap(deadline time.Duration) (wait time.Duration, ok bool) {
	d.w.enter()
	defer d.w.leave()
	now := time.Since(d.w.start)
	if d.woken || d.dead || d.again || len(d.events) > 0 || (deadline >= 0 && now >= deadline) {
		d.woken = false
		return 0, false
	}
	d.until = deadline
	if next, some := d.w.sim.Next(); some && (deadline < 0 || next < deadline) {
		d.until = next
	}
	d.w.sleeping = append(d.w.sleeping, d.Device)
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

package via

import "time"

// sleeper is the method over a NIC that can be slept on (bmi.Sleeper).
type sleeper struct{ *method }

// Arm asks the NIC for wake-ups, unless there is work left.
func (s sleeper) Arm() bool { return !s.Restless() && s.links.Arm() }

// Disarm undoes Arm. The next Poll looks at the clock, because a deadline may have
// ended the sleep.
func (s sleeper) Disarm() {
	s.links.Disarm()
	s.LookAtClock()
}

func (s sleeper) Sleep(timeout time.Duration) { s.links.Sleep(timeout) }
func (s sleeper) Wake()                       { s.links.Wake() }

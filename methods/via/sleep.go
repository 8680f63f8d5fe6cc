package via

import "time"

// sleeper is the method over a NIC that can be slept on (bmi.Sleeper).
type sleeper struct{ *method }

// Arm asks the NIC for wake-ups, unless there is work left.
func (s sleeper) Arm() bool {
	m := s.method
	if len(m.broken)+len(m.moving)+len(m.stalled)+len(m.settling) > 0 {
		return false
	}
	return m.nic.Arm()
}

// Disarm undoes Arm. The next Poll looks at the clock, because a deadline may have
// ended the sleep.
func (s sleeper) Disarm() {
	s.nic.Disarm()
	s.polls = HousekeepingPolls - 1
}

func (s sleeper) Sleep(timeout time.Duration) { s.nic.Sleep(timeout) }
func (s sleeper) Wake()                       { s.nic.Wake() }

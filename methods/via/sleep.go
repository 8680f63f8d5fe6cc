package via

import "time"

// Arm asks the NIC for wake-ups, unless there is work left (bmi.Sleeper). A NIC that cannot be
// slept on refuses.
func (m *method) Arm() bool { return !m.Restless() && m.links.Arm() }

// Disarm undoes Arm. The next Poll looks at the clock, because a deadline may have
// ended the sleep.
func (m *method) Disarm() {
	m.links.Disarm()
	m.LookAtClock()
}

func (m *method) Sleep(timeout time.Duration) { m.links.Sleep(timeout) }
func (m *method) Wake()                       { m.links.Wake() }

package via

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Close ends the method (bmi.Method). It waits for sends under way, and then until the
// peers have the CANCEL packets, at most CloseDrainMax each.
func (m *method) Close(ctx context.Context) error {
	m.BeginClose()
	m.pollWhile(ctx, m.Sending)
	m.EndAll()
	m.pollWhile(ctx, m.Settling)
	err := m.links.Close() // afterwards no peer accesses registered memory
	m.Abandon()
	if err != nil {
		return fmt.Errorf("via: %w", err)
	}
	return nil
}

// pollWhile polls until busy returns false, or ctx ends, or CloseDrainMax has passed.
func (m *method) pollWhile(ctx context.Context, busy func() bool) {
	end := m.Clock() + CloseDrainMax
	for idle := 0; busy(); idle++ {
		if m.Poll() {
			idle = 0
		}
		if idle < closeSpinPolls {
			continue
		}
		left := end - m.Clock()
		if left <= 0 || m.letPass == nil && ctx.Err() != nil {
			return
		}
		m.idle(min(left, time.Millisecond))
	}
}

// idle lets time pass until something may have happened.
func (m *method) idle(left time.Duration) {
	if m.letPass != nil {
		m.letPass(left)
		return
	}
	if m.links.Arm() {
		m.links.Sleep(left)
	} else {
		runtime.Gosched()
	}
	m.links.Disarm()
}

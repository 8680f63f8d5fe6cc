//go:build linux

package kernel

import "time"

// Arm implements stack.Sleeper.
func (s *Stack) Arm() bool { return s.gate.Arm() }

// Disarm implements stack.Sleeper.
func (s *Stack) Disarm() { s.gate.Disarm() }

// Sleep implements stack.Sleeper.
func (s *Stack) Sleep(timeout time.Duration) { s.gate.Sleep(timeout) }

// Wake implements stack.Sleeper.
func (s *Stack) Wake() { s.gate.Wake() }

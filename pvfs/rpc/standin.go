package rpc

import "time"

// A standIn is a timer that runs while a worker carries out a request before anybody waits for the next.
type standIn struct {
	timer *time.Timer
	armed bool
	turn  uint64 // whose return it waits for: the one whose turn to wait for requests was the last
}

// awaitLocked sets the timer, unless it runs: it is set anew when it finds another worker away.
func (i *standIn) awaitLocked(turn uint64) {
	if !i.armed {
		i.armed, i.turn = true, turn
		i.timer.Reset(standInAfter)
	}
}

// lookForLeader is the end of the timer.
func (s *Server) lookForLeader() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standIn.armed = false
	switch {
	case s.leading || s.drained:
	case s.turn == s.standIn.turn:
		s.wakeLocked()
	default:
		s.standIn.awaitLocked(s.turn)
	}
}

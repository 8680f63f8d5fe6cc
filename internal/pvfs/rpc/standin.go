package rpc

import "time"

// A standIn is a timer that runs while a worker carries out a brief request and no other worker waits for requests.
type standIn struct {
	timer *time.Timer
	armed bool
	turn  uint64 // value of Server.turn when the timer was set
}

// awaitLocked starts the timer, unless it runs. lookForLeader starts it again if another turn has begun since.
func (i *standIn) awaitLocked(turn uint64) {
	if !i.armed {
		i.armed, i.turn = true, turn
		i.timer.Reset(standInAfter)
	}
}

// lookForLeader runs when the timer fires. It wakes a worker if none waits for requests and no turn has begun since.
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

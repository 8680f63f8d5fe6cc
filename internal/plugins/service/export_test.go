//go:build linux

package service

import "github.com/viaduct-hpc/viaduct/internal/plugins/guest"

// LoopStats are those of a session.
func (s *Server) LoopStats(id uint64) guest.LoopStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id].loop.Stats()
}

// Gone is closed once a session holds nothing any more.
func (s *Server) Gone(id uint64) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id].gone
}

// Sessions is how many there are.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

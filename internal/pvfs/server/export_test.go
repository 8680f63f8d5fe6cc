package server

// Withdrawals is the number of objects with known withdrawals.
func (s *Server) Withdrawals() int {
	s.withdrawals.mu.RLock()
	defer s.withdrawals.mu.RUnlock()
	return len(s.withdrawals.of)
}

// ForgetWithdrawals drops withdrawals that no capability can match, and returns how many.
func (s *Server) ForgetWithdrawals() (int, error) { return s.forgetWithdrawals() }

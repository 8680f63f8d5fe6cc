package server

// Withdrawals is how many objects are known of which rights were withdrawn.
func (s *Server) Withdrawals() int {
	s.withdrawals.mu.RLock()
	defer s.withdrawals.mu.RUnlock()
	return len(s.withdrawals.of)
}

// ForgetWithdrawals forgets those that no capability can be refused for, and returns how many.
func (s *Server) ForgetWithdrawals() (int, error) { return s.forgetWithdrawals() }

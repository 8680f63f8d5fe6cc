package core

// Idle tells whether there is nothing to wait for: the request is null or inactive, or its end has
// been reported.
func (r Request) Idle() bool {
	if r.op == nil {
		return true
	}
	r.op.e.mu.Lock()
	defer r.op.e.mu.Unlock()
	return r.idleLocked()
}

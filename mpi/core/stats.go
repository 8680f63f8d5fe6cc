package core

// Stats count since New.
type Stats struct {
	// Early counts messages that came before their receives.
	Early uint64
	// Failed counts processes that failed, Protocol those of them that broke the protocol.
	Failed, Protocol uint64
	// Refused counts connections of processes that are nobody, Strays packets on a
	// connection that was refused, or of a process that is gone.
	Refused, Strays uint64
	// EarlyNow are messages that wait for their receives now, Posted receives that wait
	// for messages, and Sending sends that have not ended and
	// whose requests somebody has.
	EarlyNow, Posted, Sending int
}

// Stats counts since New.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.join()
	s := e.stats
	s.EarlyNow, s.Posted = e.match.KeptLen(), e.match.PostedLen()
	for _, p := range e.procs {
		for o := p.ops.First(); o != nil; o = p.ops.Next(o) {
			if o.kind == opSend && !o.detached {
				s.Sending++
			}
		}
	}
	return s
}

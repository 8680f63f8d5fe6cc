package core

// Stats are counters since New.
type Stats struct {
	// Early counts messages that arrived before their receives.
	Early uint64
	// Failed counts processes that failed, and Protocol those of them that broke the protocol.
	Failed, Protocol uint64
	// Refused counts refused connections of unknown or unacceptable processes. Strays counts
	// packets on refused connections and from processes that are gone.
	Refused, Strays uint64
	// EarlyNow is the number of messages that wait for their receives, Posted that of receives that
	// wait for messages, and Sending that of active sends whose requests have not been freed.
	EarlyNow, Posted, Sending int
}

// Stats returns the counters.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.join()
	s := e.stats
	s.EarlyNow, s.Posted = e.match.KeptLen(), e.match.PostedLen()
	for _, p := range e.procs {
		for o := p.ops.First(); o != nil; o = o.links.Next() {
			if o.kind == opSend && !o.detached {
				s.Sending++
			}
		}
	}
	return s
}

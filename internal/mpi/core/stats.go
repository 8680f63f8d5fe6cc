package core

import "github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"

// Stats are counters since New. The tags describe them for tools (package bmi/about).
type Stats struct {
	Early     uint64 `about:"messages that arrived before their receives"`
	Announced uint64 `about:"messages announced first: long ones, and those beyond what the receiver keeps"`
	Failed    uint64 `about:"processes that failed"`
	Lost      uint64 `about:"messages to failed processes that were lost after their sends had completed"`
	Protocol  uint64 `about:"processes that failed because they broke the protocol"`
	Refused   uint64 `about:"connections refused of unknown or unacceptable processes"`
	Strays    uint64 `about:"packets on refused connections and from processes that are gone"`

	EarlyNow int `about:"messages that wait for their receives (the unexpected queue)"`
	Posted   int `about:"receives that wait for messages"`
	Sending  int `about:"active sends with requests that have not been freed"`
}

// Waiting returns how many messages wait for receives in the scope, and how many of its receives
// wait for messages.
func (s *Scope) Waiting() (messages, receives int) {
	e := s.e
	e.mu.Lock()
	defer e.mu.Unlock()
	e.join()
	for _, p := range e.procs {
		for m := p.earlies.First(); m != nil; m = m.links.Next() {
			if ContextID(wire.ContextOf(uint64(m.bits))) == s.id {
				messages++
			}
		}
		for o := p.ops.First(); o != nil; o = o.links.Next() {
			if o.scope == s && o.at == atPosted {
				receives++
			}
		}
	}
	return messages, receives + s.anys.Len()
}

// Connections returns the processes that this one has connections with, by the addresses at which bmi
// knows them. A process may have two.
func (e *Engine) Connections() map[string]*Proc {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make(map[string]*Proc, len(e.links))
	for addr, l := range e.links {
		if l.proc != nil {
			all[addr.String()] = l.proc
		}
	}
	return all
}

// Limits returns the limits of the engine.
func (e *Engine) Limits() Limits {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cfg.Limits
}

// ChangeLimits lets change set EagerBytesMax and LateTimeMax. The others are fixed: the peers know the
// value of WindowBytes. Values that are 0 mean defaults, and EagerBytesMax is bounded as for New.
func (e *Engine) ChangeLimits(change func(l *Limits)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	own := &e.cfg.Limits
	l := *own
	change(&l)
	own.EagerBytesMax, own.LateTimeMax = l.EagerBytesMax, l.LateTimeMax
	*own = own.withDefaults()
	for _, link := range e.links {
		link.eagerMax = min(own.EagerBytesMax, link.eagerRoom)
	}
}

// Stats returns the counters.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.join()
	s := e.stats
	s.EarlyNow, s.Posted = e.match.KeptLen(), e.match.PostedLen()
	for _, p := range e.met {
		for o := p.ops.First(); o != nil; o = o.links.Next() {
			if o.kind == opSend && !o.detached {
				s.Sending++
			}
		}
	}
	return s
}

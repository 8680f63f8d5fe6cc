package view

import (
	"slices"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
)

// A Joiner makes views from the samples of processes. It keeps two earlier snapshots of each for rates. Its methods may be called
// by several goroutines.
type Joiner struct {
	mu     sync.Mutex
	known  map[string]*history // by target
	rounds uint64
}

// A history is what a target sent earlier. last is at least table.GapMin after past.
type history struct {
	last, past *watch.Snapshot
	round      uint64 // when the target was last in a view
}

// forgetAfter is how many views a target may be missing from before its history goes.
const forgetAfter = 100

// Join makes a view at a time. The tables of the snapshots have the first rows for the query q.Top().
func (j *Joiner) Join(now time.Time, samples []Sample, q table.Query) *View {
	v := &View{Taken: now, Peers: Peers{Offset: q.Offset, States: make(map[string]int)}}
	for i, past := range j.pastOf(samples) {
		one := samples[i]
		if one.Snapshot == nil {
			p := Process{Target: one.Target}
			if one.Err != nil {
				p.Error = one.Err.Error()
			}
			v.Processes = append(v.Processes, p)
			continue
		}
		v.add(one, past)
	}
	v.Peers.merge(q)
	var notes []string
	v.Jobs, notes = jobsOf(samples)
	v.Notes = append(v.Notes, notes...)
	return v
}

// pastOf returns for each sample the snapshot that rates are measured from, or nil.
func (j *Joiner) pastOf(samples []Sample) []*watch.Snapshot {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.known == nil {
		j.known = make(map[string]*history)
	}
	j.rounds++
	past := make([]*watch.Snapshot, len(samples))
	for i, one := range samples {
		if one.Snapshot == nil {
			continue
		}
		h := j.known[one.Target]
		if h == nil {
			h = new(history)
			j.known[one.Target] = h
		}
		h.round = j.rounds
		past[i] = h.next(one.Snapshot)
	}
	for target, h := range j.known {
		if j.rounds-h.round > forgetAfter {
			delete(j.known, target)
		}
	}
	return past
}

func (h *history) next(s *watch.Snapshot) *watch.Snapshot {
	switch {
	case h.last == nil || h.last.PID != s.PID || !h.last.Started.Equal(s.Started):
		h.last, h.past = s, nil
	case s.Taken.Sub(h.last.Taken) >= table.GapMin:
		h.last, h.past = s, h.last
	}
	return h.past
}

// add adds a process that answered.
func (v *View) add(one Sample, past *watch.Snapshot) {
	s, index := one.Snapshot, len(v.Processes)
	seconds := 0.0
	if past != nil {
		seconds = s.Taken.Sub(past.Taken).Seconds()
	} else {
		past = new(watch.Snapshot)
	}
	p := Process{
		Target: one.Target, Program: s.Program, Host: s.Host, PID: s.PID, Version: s.Version,
		Running: max(s.Taken.Sub(s.Started).Seconds(), 0), Endpoints: len(s.Endpoints), Methods: methodsOf(s, past, seconds),
	}
	for _, m := range p.Methods {
		p.Rates.Add(m.Rates)
	}
	for i := range s.Endpoints {
		p.UnexpectedMessages += s.Endpoints[i].UnexpectedMessages
		p.UnexpectedBytes += s.Endpoints[i].UnexpectedBytes
	}
	if t := s.Table; t != nil {
		p.Peers, p.QueuedSends, p.Retransmissions, p.Lost = t.Known, t.Sum.QueuedSends, t.Sum.Retransmissions, t.Sum.Lost
		v.Peers.add(t, index)
	}
	v.Processes = append(v.Processes, p)
	if s.Server != nil {
		v.Servers = append(v.Servers, serverOf(index, s.Server, past.Server, seconds))
	}
}

// methodsOf adds up each method over all endpoints.
func methodsOf(s, past *watch.Snapshot, seconds float64) (all []Method) {
	type key struct{ name, address string }
	earlier := make(map[key]watch.Method)
	for i := range past.Endpoints {
		for _, m := range past.Endpoints[i].Methods {
			earlier[key{m.Name, m.Address}] = m
		}
	}
	for i := range s.Endpoints {
		for _, m := range s.Endpoints[i].Methods {
			out := Method{Name: m.Name, Address: m.Address}
			if b, ok := earlier[key{m.Name, m.Address}]; ok {
				out.Rates = watch.Rates{
					BytesSent: table.Rate(b.BytesSent, m.BytesSent, seconds), BytesReceived: table.Rate(b.BytesReceived, m.BytesReceived, seconds),
					MessagesSent: table.Rate(b.MessagesSent, m.MessagesSent, seconds), MessagesReceived: table.Rate(b.MessagesReceived, m.MessagesReceived, seconds),
				}
			}
			all = append(all, out)
		}
	}
	return all
}

func (p *Peers) add(t *watch.Table, process int) {
	p.Known += t.Known
	p.Matched += t.Matched
	for state, n := range t.States {
		p.States[state] += n
	}
	p.Sum.Join(t.Sum)
	for _, r := range t.Rows {
		p.Rows = append(p.Rows, Peer{r, process})
	}
}

// merge sorts the first rows of all processes and keeps the page that was asked for.
func (p *Peers) merge(q table.Query) {
	slices.SortStableFunc(p.Rows, func(a, b Peer) int { return q.Compare(&a.Row, &b.Row) })
	from := min(q.Offset, len(p.Rows))
	p.Rows = p.Rows[from:min(from+q.Limit, len(p.Rows))]
}

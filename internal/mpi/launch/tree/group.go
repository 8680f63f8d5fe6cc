package tree

import "github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"

// A group is the processes that were started together, in this part of the tree.
type group struct {
	number int
	parts  []part // as Node.near
	pairs  store
	fresh  []wire.Pair // put since the fence before

	started                     bool // the parent knows that all processes were started
	initialized, allInitialized bool // it knows that some process has called Init, or all
	aborted, failed             bool // it knows
	ending                      bool // ends of processes are reported only when all have ended

	runs               []wire.Run // ends that the parent does not know
	toldBad, toldEarly bool       // the parent knows of an end that ends the job, and of one before Init
	missing            []int      // for the open question
	more, answers      int        // ranks that are not in missing; neighbours that have not answered
}

// A part is the processes of a group at one neighbour, or below it.
type part struct {
	waits       bool // all are in the fence
	started     bool // all were started
	initialized bool // all have called Init, or ended
	asked       bool // has not answered which ranks are missing
	done        bool // all have ended
}

// start begins a group. A child that is lost has no part in it.
func (n *Node) start(f *wire.Start) {
	if n.groups[f.Group] != nil {
		return
	}
	g := &group{number: f.Group, parts: make([]part, len(n.near))}
	n.groups[f.Group] = g
	if n.cfg.Node == 0 {
		g.pairs.add(f.Preput)
	}
	for i := range n.near {
		if !n.near[i].lost {
			n.send(n.near[i].at, f)
		}
	}
	for i := range n.near {
		if n.near[i].lost && n.groups[f.Group] == g {
			n.leave(g, i)
		}
	}
}

// all tells whether holds returns true for all parts in which processes still run, and whether
// there is such a part.
func (g *group) all(holds func(*part) bool) (all, some bool) {
	for i := range g.parts {
		if p := &g.parts[i]; !p.done {
			if !holds(p) {
				return false, false
			}
			some = true
		}
	}
	return true, some
}

// leave notes that no process of a group is left at a neighbour.
func (n *Node) leave(g *group, i int) {
	p := &g.parts[i]
	if p.done {
		return
	}
	p.done = true
	if p.asked {
		p.asked = false
		n.answered(g)
	}
	if all, some := g.all(func(*part) bool { return false }); all && !some {
		n.push(&wire.Ended{Group: g.number, Runs: g.runs, Done: true})
		delete(n.groups, g.number)
		return
	}
	n.checkStarted(g)
	n.checkState(g)
	n.checkFence(g)
}

// checkStarted reports to the parent, once, that all processes were started.
func (n *Node) checkStarted(g *group) {
	if all, _ := g.all(func(p *part) bool { return p.started }); all && !g.started && !g.failed {
		g.started = true
		n.send(Up, &wire.Started{Group: g.number})
	}
}

// state notes that processes have called Init.
func (n *Node) state(g *group, i int, f *wire.State) {
	g.parts[i].initialized = g.parts[i].initialized || f.All
	if !g.initialized {
		g.initialized = true
		n.send(Up, &wire.State{Group: g.number})
	}
	n.checkState(g)
}

func (n *Node) checkState(g *group) {
	all, some := g.all(func(p *part) bool { return p.initialized })
	if all && some && g.initialized && !g.allInitialized {
		g.allInitialized = true
		n.send(Up, &wire.State{Group: g.number, All: true})
	}
}

// ended records ends of processes. Ends that may matter to other processes are reported to the
// parent at once, the rest when all processes have ended.
func (n *Node) ended(g *group, i int, f *wire.Ended) {
	urgent := false
	for _, r := range f.Runs {
		g.add(r)
		urgent = urgent || g.urgent(r, n.cfg.KeepGoing)
	}
	if f.Done {
		n.leave(g, i)
	}
	if urgent && n.groups[g.number] == g {
		n.send(Up, &wire.Ended{Group: g.number, Runs: g.runs})
		g.runs = nil
	}
}

// States of a process, as package pmi/server has them.
const (
	started = iota
	ready
)

// urgent tells whether an end must be reported to the parent at once: the first end that ends the
// job, and the first end of a process that never called Init, which matters if other processes do.
func (g *group) urgent(r wire.Run, keepGoing bool) bool {
	switch {
	case g.ending:
		return false
	case r.State == ready, r.State == started && r.Status != 0:
		first := !g.toldBad
		g.toldBad = true
		return first || keepGoing
	case r.State == started:
		first := !g.toldEarly
		g.toldEarly = true
		return first
	}
	return false
}

// add appends an end, or counts it with the one before. Nobody needs the processes of those that
// ended well.
func (g *group) add(r wire.Run) {
	if len(g.runs) > 0 {
		last := &g.runs[len(g.runs)-1]
		if last.Rank+last.Count == r.Rank && last.Status == r.Status && last.State == r.State && (r.Status == 0 && r.State != ready || g.ending) {
			last.Count += r.Count
			return
		}
	}
	g.runs = append(g.runs, r)
}

// who asks all parts which processes have not called Init.
func (n *Node) who(g *group, f *wire.Who) {
	if g.answers > 0 {
		return
	}
	g.missing, g.more = nil, 0
	for i := range g.parts {
		if p := &g.parts[i]; !p.done && !p.initialized {
			p.asked = true
			g.answers++
			n.send(n.near[i].at, f)
		}
	}
	if g.answers == 0 {
		n.send(Up, &wire.Missing{Group: g.number})
	}
}

func (n *Node) missing(g *group, i int, f *wire.Missing) {
	if !g.parts[i].asked {
		return
	}
	g.parts[i].asked = false
	for _, r := range f.Ranks {
		if len(g.missing) < wire.MissingMax {
			g.missing = append(g.missing, r)
		} else {
			g.more++
		}
	}
	g.more = min(g.more+f.More, wire.RanksMax)
	n.answered(g)
}

func (n *Node) answered(g *group) {
	if g.answers--; g.answers == 0 {
		n.send(Up, &wire.Missing{Group: g.number, Ranks: g.missing, More: g.more})
	}
}

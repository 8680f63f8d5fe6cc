package tree

import "github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"

// Config is the configuration of a node, which it gets from its parent.
type Config struct {
	Node, Arity, Nodes int
	// KeepGoing lets the job continue when processes die. Then each death is reported at once.
	KeepGoing bool
}

// An Action is a frame for a neighbour: Up, Here or a child. Without a frame, the link to the child
// must be closed.
type Action struct {
	To    int
	Frame wire.Frame
}

// A Node is the state of one agent. It is used by one goroutine.
type Node struct {
	cfg   Config
	first int         // number of the first child
	near  []neighbour // the children, then Here
	up    bool        // the parent knows that this part of the tree runs

	groups map[int]*group

	credit  int          // how much output may be sent up
	waiting []wire.Frame // Output, and Ended that must not overtake it
	out     []Action     // of the step that is being taken
}

// A neighbour is a child, or Here.
type neighbour struct {
	at       int
	up, lost bool
	waits    int // bytes of its output that are in Node.waiting
	taken    int // bytes passed on and not yet reported to it, < outputTakenMin
}

// New makes a node, and returns its first actions.
func New(cfg Config) (*Node, []Action) {
	first, count := Children(cfg.Node, cfg.Arity, cfg.Nodes)
	n := &Node{cfg: cfg, first: first, groups: map[int]*group{}, credit: OutputWindow}
	for i := range count {
		n.near = append(n.near, neighbour{at: first + i})
	}
	n.near = append(n.near, neighbour{at: Here, up: true, lost: cfg.Node == 0}) // node 0 has no processes
	n.checkUp()
	return n, n.take()
}

func (n *Node) take() []Action {
	out := n.out
	n.out = nil
	return out
}

func (n *Node) send(to int, f wire.Frame) { n.out = append(n.out, Action{to, f}) }

// index returns the place of a neighbour, or -1.
func (n *Node) index(at int) int {
	switch i := at - n.first; {
	case at == Here:
		return len(n.near) - 1
	case i >= 0 && i < len(n.near)-1:
		return i
	}
	return -1
}

// Receive takes a frame of a neighbour, and returns what follows from it.
func (n *Node) Receive(from int, f wire.Frame) []Action {
	if from == Up {
		n.fromUp(f)
		return n.take()
	}
	if i := n.index(from); i >= 0 && !n.near[i].lost {
		n.fromNear(i, f)
	}
	return n.take()
}

// Lost handles the loss of a child and all nodes below it.
func (n *Node) Lost(child int, why string) []Action {
	if i := n.index(child); i >= 0 {
		n.lose(i, why)
	}
	return n.take()
}

func (n *Node) lose(i int, why string) {
	if n.near[i].lost {
		return
	}
	n.near[i].lost = true
	n.send(Up, &wire.Lost{Node: n.near[i].at, Why: why})
	n.checkUp()
	for _, g := range n.groups {
		g.toldBad = g.toldBad || !g.parts[i].done
		n.leave(g, i)
	}
}

// checkUp reports to the parent, once, that this part of the tree runs or is lost.
func (n *Node) checkUp() {
	for _, c := range n.near {
		if !c.up && !c.lost {
			return
		}
	}
	if !n.up {
		n.up = true
		n.send(Up, &wire.Up{})
	}
}

// Unreached returns the children below which an agent has not said that it runs.
func (n *Node) Unreached() (children []int) {
	for _, c := range n.near {
		if !c.up && !c.lost {
			children = append(children, c.at)
		}
	}
	return children
}

// fromUp handles a frame of the launcher.
func (n *Node) fromUp(f wire.Frame) {
	switch f := f.(type) {
	case *wire.Start:
		n.start(f)
	case *wire.Release:
		if g := n.groups[f.Group]; g != nil {
			n.release(g, f)
		}
	case *wire.Answer:
		if g := n.groups[f.Group]; g != nil {
			g.pairs.add(f.Pairs)
		}
		n.route(f.Node, f)
	case *wire.Signal:
		if g := n.groups[f.Group]; g != nil {
			g.ending = g.ending || f.Ending
			n.spread(g, f)
		}
	case *wire.Input:
		n.route(f.Node, f)
	case *wire.Who:
		if g := n.groups[f.Group]; g != nil {
			n.who(g, f)
		}
	case *wire.OutputTaken:
		n.credit = min(n.credit+f.Bytes, OutputWindow)
		n.pump()
	}
}

// route passes a frame on to a node below this one, or Here.
func (n *Node) route(node int, f wire.Frame) {
	to := Here
	if node != n.cfg.Node {
		if node <= n.cfg.Node || node >= n.cfg.Nodes || !Below(node, n.cfg.Node, n.cfg.Arity) {
			return
		}
		to = Toward(n.cfg.Node, node, n.cfg.Arity)
	}
	if i := n.index(to); i >= 0 && !n.near[i].lost {
		n.send(to, f)
	}
}

// spread passes a frame on to all that still have processes of a group.
func (n *Node) spread(g *group, f wire.Frame) {
	for i := range n.near {
		if !g.parts[i].done {
			n.send(n.near[i].at, f)
		}
	}
}

// fromNear handles a frame of a child, or of this node's processes.
func (n *Node) fromNear(i int, f wire.Frame) {
	switch f := f.(type) {
	case *wire.Up:
		n.near[i].up = true
		n.checkUp()
	case *wire.Output:
		n.output(i, f)
	case *wire.Started:
		if g := n.groups[f.Group]; g != nil {
			g.parts[i].started = true
			n.checkStarted(g)
		}
	case *wire.Fence:
		if g := n.groups[f.Group]; g != nil {
			n.fence(g, i, f)
		}
	case *wire.State:
		if g := n.groups[f.Group]; g != nil {
			n.state(g, i, f)
		}
	case *wire.Ended:
		if g := n.groups[f.Group]; g != nil {
			n.ended(g, i, f)
		}
	case *wire.Missing:
		if g := n.groups[f.Group]; g != nil {
			n.missing(g, i, f)
		}
	case *wire.Ask:
		n.ask(i, f)
	case *wire.Abort:
		if g := n.groups[f.Group]; g != nil && !g.aborted {
			g.aborted = true // the first ends the job
			n.send(Up, f)
		}
	case *wire.Failed:
		if g := n.groups[f.Group]; g != nil && !g.failed {
			g.failed = true
			n.send(Up, f)
		}
	case *wire.Say, *wire.Lost, *wire.InputTaken:
		n.send(Up, f)
	}
}

// ask answers a question for a pair that came by, and passes others on.
func (n *Node) ask(i int, f *wire.Ask) {
	g := n.groups[f.Group]
	if f.What != wire.AskGet || g == nil {
		n.send(Up, f)
		return
	}
	page := g.pairs.page(f.Key)
	if page == nil && n.cfg.Node != 0 {
		n.send(Up, f)
		return
	}
	n.send(n.near[i].at, &wire.Answer{Node: f.Node, Ask: f.Ask, Group: f.Group, OK: page != nil, Pairs: page})
}

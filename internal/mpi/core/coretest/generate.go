package coretest

import (
	"math/rand/v2"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// A Discipline says which receives a communicator has. In all but Free, receives with equal
// patterns form a class, and every message matches the receives of one class. So the k-th receive
// of a class gets a message once k messages were sent, in any order. By counting, the generator
// knows which waits end.
type Discipline uint8

// Disciplines.
const (
	Exact     Discipline = iota // source and tag are given
	AnySource                   // only the tag is given
	AnyTag                      // only the source is given
	AnyBoth                     // no source and no tag are given
	// Free has receives of all kinds, and cancels. A rank waits for those only at the end of its
	// program: then it learns how many messages there are, and receives the rest.
	Free
	disciplines
)

func (d Discipline) String() string {
	return [...]string{"exact", "any source", "any tag", "any", "free"}[d]
}

// pattern returns the pattern of the receives that match a message with this envelope.
func (d Discipline) pattern(src, tag int) (int, int) {
	if d == AnySource || d == AnyBoth {
		src = core.AnySource
	}
	if d == AnyTag || d == AnyBoth {
		tag = core.AnyTag
	}
	return src, tag
}

// Shape limits a program.
type Shape struct {
	RanksMin   int // 1 if it is 0
	RanksMax   int
	ActionsMax int
	SizeMax    int // of most messages, in bytes; a few are the largest
	LargestMax int
	// Edges are sizes at which behaviour changes, such as the eager limit.
	Edges []int
	// Strides allows memory that is not contiguous.
	Strides bool
}

// class is the receives of one pattern, and the messages that match them.
type class struct {
	rank, comm, src, tag int
}

type count struct{ sends, recvs int }

// pending is a request for which a rank has not waited.
type pending struct {
	id    int
	send  bool
	class class
	index int // of its kind in its class, from 1
	free  bool
}

// tagsPlain is how many tags are used by all actions; those from tagFresh on are used only once.
const (
	tagsPlain = 3
	tagFresh  = 100
)

// generator writes all ranks' programs as one sequence that could happen. What a rank waits for has
// happened before in the sequence, and would have in every other allowed sequence, so no program
// can deadlock.
type generator struct {
	*rand.Rand
	p       *Program
	shape   Shape
	ids     int
	last    int // size of the latest message, in bytes
	fresh   int
	classes map[class]*count
	order   []class // the keys of classes, so that choices do not depend on the order of a map
	pending [][]pending
	recalls bool // sends may be cancelled, so a message that a probe saw may be gone when it is to be received
}

// Generate draws a program.
func Generate(seed uint64, shape Shape) *Program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0xc07e)), shape: shape, fresh: tagFresh, classes: make(map[class]*count), recalls: seed%2 == 0}
	least := max(shape.RanksMin, 1)
	ranks := least + g.IntN(shape.RanksMax-least+1)
	g.p = &Program{Seed: seed, Ranks: make([][]Action, ranks), RoomMax: max(shape.SizeMax, shape.LargestMax)}
	for _, e := range shape.Edges {
		g.p.RoomMax = max(g.p.RoomMax, e+1)
	}
	g.pending = make([][]pending, ranks)
	for range 1 + g.IntN(commsMax/2) {
		g.p.Comms = append(g.p.Comms, Discipline(g.IntN(int(disciplines))))
	}
	for range ranks + g.IntN(shape.ActionsMax) {
		g.step()
	}
	g.balance()
	return g.p
}

// rank draws a rank.
func (g *generator) rank() int { return g.IntN(len(g.p.Ranks)) }

// comm draws a communicator that is free, or one that is not; ok is false if there is none.
func (g *generator) comm(free bool) (comm int, ok bool) {
	var fit []int
	for comm, d := range g.p.Comms {
		if (d == Free) == free {
			fit = append(fit, comm)
		}
	}
	if len(fit) == 0 {
		return 0, false
	}
	return fit[g.IntN(len(fit))], true
}

func (g *generator) step() {
	switch g.IntN(20) {
	case 0, 1, 2, 3, 4:
		g.sendSomething()
	case 5, 6, 7:
		g.recvOwed(Irecv)
	case 8:
		g.recvAhead()
	case 9:
		g.recvOwed([]Verb{Recv, Probe, Mprobe}[g.IntN(3)])
	case 10:
		g.sendOwed()
	case 11:
		if g.IntN(2) == 0 {
			g.exchange()
		} else {
			g.ready()
		}
	case 12, 13, 14:
		g.wait()
	case 15:
		g.test()
	default:
		g.freely()
	}
}

// add appends an action to a rank's program.
func (g *generator) add(rank int, a Action) { g.p.Ranks[rank] = append(g.p.Ranks[rank], a) }

// action makes an action with an id of its own.
func (g *generator) action(v Verb, comm, peer, tag, size int) Action {
	g.ids++
	a := Action{Verb: v, ID: g.ids, Comm: comm, Peer: peer, Tag: tag, Size: size}
	a.Persistent = (v == Isend || v == Irecv) && g.IntN(6) == 0
	if g.shape.Strides && g.IntN(6) == 0 && v != Exchange {
		a.Stride = 2 + g.IntN(3)
	}
	if a.Persistent { // few kinds, so that some are started again
		a.Stride = 0
		if a.Size = g.p.RoomMax; v == Isend {
			a.Size = []int{100, g.shape.SizeMax}[g.IntN(2)]
		}
	}
	return a
}

// size draws the size of a message.
func (g *generator) size() int {
	g.last = g.anySize()
	return g.last
}

func (g *generator) anySize() int {
	switch g.IntN(10) {
	case 0:
		return 0
	case 1, 2, 3:
		return g.IntN(64)
	case 4:
		if len(g.shape.Edges) > 0 {
			return max(0, g.shape.Edges[g.IntN(len(g.shape.Edges))]-1+g.IntN(3))
		}
	case 5:
		if g.IntN(4) == 0 {
			return g.IntN(g.shape.LargestMax + 1)
		}
	}
	return g.IntN(g.shape.SizeMax + 1)
}

// room draws the buffer size of a receive: usually enough for any message.
func (g *generator) room() int {
	switch g.IntN(16) {
	case 0:
		return g.anySize()
	case 1:
		return max(0, g.last-1+g.IntN(3))
	}
	return g.p.RoomMax
}

// mode draws the mode of a send for which no receive is known.
func (g *generator) mode() core.Mode {
	return []core.Mode{core.Standard, core.Standard, core.Standard, core.Synchronous, core.Buffered}[g.IntN(5)]
}

func (g *generator) count(c class) *count {
	n := g.classes[c]
	if n == nil {
		n = new(count)
		g.classes[c] = n
		g.order = append(g.order, c)
	}
	return n
}

// classOf returns the class of a message.
func (g *generator) classOf(comm, src, dst, tag int) class {
	s, t := g.p.Comms[comm].pattern(src, tag)
	return class{dst, comm, s, t}
}

// send adds a send to a communicator that is not free.
func (g *generator) send(v Verb, comm, src, dst, tag int, mode core.Mode) {
	c := g.classOf(comm, src, dst, tag)
	n := g.count(c)
	n.sends++
	a := g.action(v, comm, dst, tag, g.size())
	a.Mode = mode
	g.add(src, a)
	if v == Isend {
		g.pending[src] = append(g.pending[src], pending{id: a.ID, send: true, class: c, index: n.sends})
	}
}

// recv adds a receive of a class.
func (g *generator) recv(v Verb, c class) {
	n := g.count(c)
	n.recvs++
	a := g.action(v, c.comm, c.src, c.tag, g.room())
	g.add(c.rank, a)
	if v == Irecv {
		g.pending[c.rank] = append(g.pending[c.rank], pending{id: a.ID, class: c, index: n.recvs})
	}
}

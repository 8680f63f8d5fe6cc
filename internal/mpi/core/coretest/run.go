package coretest

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A run is the state of a rank in its part of a program.
type run struct {
	*Rank
	rng     *rand.Rand
	p       *Program
	h       *History
	pending map[int]*posted
	idle    map[purpose][]*posted // persistent requests that have ended
	counts  [][]uint64            // by communicator and rank: messages sent there and not cancelled
	arrived []int                 // by communicator: messages received
}

// A posted is a send or receive that has not ended.
type posted struct {
	id     int
	q      Request
	mem    *memory
	sent   *Sent // of a send
	got    *Got  // of a receive
	cancel bool

	again   Persistent // q, if it is persistent
	purpose purpose    // of again
}

// Run runs a rank's part of the program and records what it sees in h. It calls at with the index
// of each action, for observers.
func (p *Program) Run(r *Rank, h *History, at func(action int)) error {
	return p.newRun(r, h).all(at)
}

func (p *Program) newRun(r *Rank, h *History) *run {
	x := &run{
		Rank: r, p: p, h: h, pending: make(map[int]*posted), idle: make(map[purpose][]*posted),
		rng:     rand.New(rand.NewPCG(p.Seed, 1000+uint64(r.N))),
		counts:  make([][]uint64, len(p.Comms)),
		arrived: make([]int, len(p.Comms)),
	}
	for comm := range x.counts {
		x.counts[comm] = make([]uint64, len(p.Ranks))
	}
	return x
}

// all runs all actions.
func (x *run) all(at func(action int)) error {
	actions := x.p.Ranks[x.N]
	for i, a := range actions {
		at(i)
		if err := x.do(a); err != nil {
			return fmt.Errorf("action %d, %v: %w", i, a, err)
		}
	}
	at(len(actions))
	if err := x.finish(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	return nil
}

func (x *run) do(a Action) error {
	switch a.Verb {
	case Isend:
		return x.isend(a)
	case Send:
		_, mem := x.sent(a)
		defer mem.spoil()
		return x.Send(a.Comm, a.Mode, mem.buf, a.Peer, a.Tag)
	case Irecv:
		return x.irecv(a)
	case Recv:
		g, mem := x.receive(a)
		st, err := x.Recv(a.Comm, mem.buf, a.Peer, a.Tag)
		return x.ended(&posted{got: g, mem: mem}, st, err)
	case Probe:
		return x.probe(a)
	case Mprobe:
		return x.mprobe(a)
	case Iprobe:
		return x.iprobe(a)
	case Improbe:
		return x.improbe(a)
	case Exchange:
		return x.exchange(a)
	case CancelRecv, CancelSend:
		return x.cancel(a)
	}
	return x.look(a)
}

// sent records a send, in new memory.
func (x *run) sent(a Action) (*Sent, *memory) {
	mem := newMemory(a.Size, a.Stride)
	return x.sentFrom(a, mem), mem
}

func (x *run) sentFrom(a Action, mem *memory) *Sent {
	s := &Sent{ID: a.ID, Src: x.N, Dst: a.Peer, Comm: a.Comm, Tag: a.Tag, Size: a.Size}
	x.h.Sent = append(x.h.Sent, s)
	x.counts[a.Comm][a.Peer]++
	data := make([]byte, a.Size)
	Fill(data, x.p.Seed, a.ID)
	mem.write(data)
	return s
}

// receive records a receive that is about to be posted, in new memory.
func (x *run) receive(a Action) (*Got, *memory) {
	return x.receiveFrom(a), newMemory(a.Size, a.Stride)
}

func (x *run) receiveFrom(a Action) *Got {
	now := x.h.tick()
	g := &Got{ID: a.ID, Rank: x.N, Comm: a.Comm, Src: a.Peer, Tag: a.Tag, Room: a.Size, Posted: now, After: now}
	x.h.Got = append(x.h.Got, g)
	return g
}

func (x *run) isend(a Action) (err error) {
	if a.Persistent {
		return x.start(a, func(mem *memory) (Persistent, error) {
			return x.SendInit(a.Comm, a.Mode, mem.buf, a.Peer, a.Tag)
		})
	}
	s, mem := x.sent(a)
	q, err := x.Isend(a.Comm, a.Mode, mem.buf, a.Peer, a.Tag)
	x.pending[a.ID] = &posted{id: a.ID, q: q, sent: s, mem: mem}
	return err
}

func (x *run) irecv(a Action) (err error) {
	if a.Persistent {
		return x.start(a, func(mem *memory) (Persistent, error) {
			return x.RecvInit(a.Comm, mem.buf, a.Peer, a.Tag)
		})
	}
	g, mem := x.receive(a)
	q, err := x.Irecv(a.Comm, mem.buf, a.Peer, a.Tag)
	x.pending[a.ID] = &posted{id: a.ID, q: q, got: g, mem: mem}
	return err
}

// A purpose is the use of a persistent request: a request that has ended can be started again for
// an action with the same purpose.
type purpose struct {
	verb                          Verb
	comm, peer, tag, size, stride int
	mode                          core.Mode
}

func (a Action) purpose() purpose {
	return purpose{a.Verb, a.Comm, a.Peer, a.Tag, a.Size, a.Stride, a.Mode}
}

// start starts a persistent request, an old one if possible.
func (x *run) start(a Action, make func(mem *memory) (Persistent, error)) (err error) {
	p := &posted{id: a.ID, purpose: a.purpose()}
	if idle := x.idle[p.purpose]; len(idle) > 0 {
		last := idle[len(idle)-1]
		p.again, p.mem = last.again, last.mem
		x.idle[p.purpose] = idle[:len(idle)-1]
		x.h.Restarted++
	} else {
		p.mem = newMemory(a.Size, a.Stride)
		if p.again, err = make(p.mem); err != nil {
			return err
		}
	}
	if a.Verb == Isend {
		p.sent = x.sentFrom(a, p.mem)
	} else {
		p.got = x.receiveFrom(a)
	}
	p.q, x.pending[a.ID] = p.again, p
	return p.again.Start()
}

// probe waits for a message and then receives it, by its envelope.
func (x *run) probe(a Action) error {
	from := x.h.tick()
	st, err := x.Rank.Probe(a.Comm, a.Peer, a.Tag)
	if err != nil {
		return err
	}
	return x.probed(a, from, st)
}

func (x *run) iprobe(a Action) error {
	from := x.h.tick()
	st, ok, err := x.Iprobe(a.Comm, a.Peer, a.Tag)
	if err != nil || !ok {
		return err
	}
	return x.probed(a, from, st)
}

func (x *run) probed(a Action, from int, st core.Status) error {
	probe := &Got{ID: a.ID, Rank: x.N, Comm: a.Comm, Src: a.Peer, Tag: a.Tag, Posted: from, After: from, Before: x.h.tick(), Status: st}
	a.Peer, a.Tag = st.Source, st.Tag
	g, mem := x.receive(a)
	g.Probed = probe
	st, err := x.Recv(a.Comm, mem.buf, a.Peer, a.Tag)
	return x.ended(&posted{got: g, mem: mem}, st, err)
}

// mprobe takes a message with a matched probe and then receives it.
func (x *run) mprobe(a Action) error {
	g, mem := x.receive(a)
	m, err := x.Mprobe(a.Comm, a.Peer, a.Tag)
	if err != nil {
		return err
	}
	return x.take(a, g, mem, m)
}

func (x *run) improbe(a Action) error {
	g, mem := x.receive(a)
	m, ok, err := x.Improbe(a.Comm, a.Peer, a.Tag)
	if err != nil {
		return err
	}
	if !ok {
		x.h.Got = x.h.Got[:len(x.h.Got)-1]
		return nil
	}
	return x.take(a, g, mem, m)
}

// take posts the receive of a message that was taken; it is waited for at the end.
func (x *run) take(a Action, g *Got, mem *memory, m Message) error {
	g.Taken, g.Before = true, x.h.tick()
	g.Probed = &Got{Status: m.Status(), After: g.After, Before: g.Before, Rank: g.Rank, Comm: g.Comm, Src: g.Src, Tag: g.Tag, Posted: g.Posted}
	q, err := m.Irecv(mem.buf)
	x.pending[a.ID] = &posted{id: a.ID, q: q, got: g, mem: mem}
	return err
}

func (x *run) exchange(a Action) error {
	_, out := x.sent(a)
	defer out.spoil()
	g, in := x.receive(*a.Other)
	st, err := x.Exchange(a.Comm, out.buf, a.Peer, a.Tag, in.buf, a.Other.Peer, a.Other.Tag)
	return x.ended(&posted{got: g, mem: in}, st, err)
}

// cancel cancels a request. A receive then ends soon, in either way.
func (x *run) cancel(a Action) error {
	p := x.pending[a.IDs[0]]
	if p == nil {
		return nil
	}
	if err := x.cancelOne(p); err != nil || a.Verb == CancelSend {
		return err
	}
	return x.waitOne(p)
}

func (x *run) cancelOne(p *posted) error {
	p.cancel = true
	if p.got != nil && !p.got.Taken {
		// If it is cancelled it was in the matching until now; if not, since its post.
		p.got.After = x.h.tick()
	}
	return p.q.Cancel()
}

func (x *run) waitOne(p *posted) error {
	st, err := x.Wait(p.q)
	return x.over(p, st, err)
}

// over handles a pending request whose end was reported.
func (x *run) over(p *posted, st core.Status, err error) error {
	delete(x.pending, p.id)
	if p.again != nil {
		x.idle[p.purpose] = append(x.idle[p.purpose], p)
	}
	var again error
	if _, ok, err := p.q.Test(); !ok || err != nil {
		again = fmt.Errorf("coretest: a request that has ended tests as %v, %v", ok, err)
	}
	if p.sent != nil {
		if st.Cancelled {
			x.counts[p.sent.Comm][p.sent.Dst]--
		}
		p.mem.spoil()
		return errors.Join(again, checkSend(p.sent, st, err, p.cancel))
	}
	return errors.Join(again, x.ended(p, st, err))
}

// ended records the result of a receive. Only errors that no receive can have are reported here;
// Check judges the rest.
func (x *run) ended(p *posted, st core.Status, err error) error {
	if err != nil && !errors.Is(err, errclass.Truncate) {
		return err
	}
	g := p.got
	now := x.h.tick()
	if !g.Taken {
		g.Before = now
	}
	if g.Done = true; p.cancel && st.Cancelled {
		g.Cancelled = true
	} else {
		if x.arrived[g.Comm]++; p.cancel && !g.Taken {
			g.After = g.Posted
		}
	}
	g.Status, g.Err = st, err
	var rest error
	if !g.Cancelled {
		g.Data, rest = p.mem.read(min(st.Bytes, g.Room))
	}
	return rest
}

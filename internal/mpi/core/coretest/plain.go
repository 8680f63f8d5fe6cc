package coretest

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Plain is an obvious model of processes that exchange messages. Every pair has a queue of messages
// in transit. Every rank has a list of receives that wait for messages and one of messages that
// wait for receives, which are searched from the beginning. Step moves a few random messages.
type Plain struct {
	rng   *rand.Rand
	flaw  Flaw
	ranks []*plainRank
	wires [][]*plainMessage // by source and destination
	// missed counts messages in ready mode that found no receive.
	missed int
}

// plainEager is the size in bytes up to which the model copies a message.
const plainEager = 500

type plainRank struct {
	p      *Plain
	n      int
	posted []*plainRequest
	early  []*plainMessage
}

type plainMessage struct {
	src, dst, comm, tag, size int
	mode                      core.Mode
	data                      []byte // a copy; nil while it is only in the sender's buffer
	from                      *plainRequest
}

type plainRequest struct {
	rank     *plainRank
	comm     int
	src, tag int
	buf      core.Buffer
	start    func()
	message  *plainMessage // of a send
	again    bool          // persistent
	active   bool          // begun, and its end not reported
	over     bool
	status   core.Status
	err      error
}

// NewPlain makes a model of n ranks, with a flaw.
func NewPlain(n int, seed uint64, flaw Flaw) *Plain {
	p := &Plain{rng: rand.New(rand.NewPCG(seed, 0x9a1)), flaw: flaw, wires: make([][]*plainMessage, n*n)}
	for i := range n {
		p.ranks = append(p.ranks, &plainRank{p: p, n: i})
	}
	return p
}

// Ports returns the ranks.
func (p *Plain) Ports() (ports []Port) {
	for _, r := range p.ranks {
		ports = append(ports, r)
	}
	return ports
}

// Step lets some messages arrive.
func (p *Plain) Step() {
	for w, wire := range p.wires {
		if len(wire) == 0 || p.rng.IntN(2) == 0 {
			continue
		}
		i := p.flaw.next(p.rng, wire)
		m := wire[i]
		p.wires[w] = append(wire[:i:i], wire[i+1:]...)
		for range p.flaw.copies(p.rng) {
			p.ranks[m.dst].arrive(m)
		}
	}
}

// fits tells whether a receive matches a message.
func (q *plainRequest) fits(m *plainMessage, flaw Flaw) bool {
	return q.comm == m.comm && (q.src == core.AnySource || q.src == m.src) &&
		(q.tag == core.AnyTag || q.tag == m.tag || flaw == AnyTagFits)
}

func (r *plainRank) arrive(m *plainMessage) {
	for i := range r.posted {
		if r.p.flaw == LastReceive {
			i = len(r.posted) - 1 - i
		}
		if q := r.posted[i]; q.fits(m, r.p.flaw) {
			r.posted = append(r.posted[:i:i], r.posted[i+1:]...)
			q.take(m)
			return
		}
	}
	if m.mode == core.Ready {
		r.p.missed++
	}
	r.early = append(r.early, m)
}

// find returns the index of the first early message that matches, or -1.
func (r *plainRank) find(q *plainRequest) int {
	for i := range r.early {
		if r.p.flaw == LastMessage {
			i = len(r.early) - 1 - i
		}
		if q.fits(r.early[i], r.p.flaw) {
			return i
		}
	}
	return -1
}

// remove removes an early message.
func (r *plainRank) remove(i int) *plainMessage {
	m := r.early[i]
	r.early = append(r.early[:i:i], r.early[i+1:]...)
	return m
}

// take gives a message to a receive.
func (q *plainRequest) take(m *plainMessage) {
	data := m.data
	if data == nil {
		data = load(m.from.buf)
	}
	q.status = core.Status{Source: m.src, Tag: m.tag, Bytes: m.size}
	room := capacity(q.buf)
	if m.size > room {
		data, q.err = data[:room], errclass.New(errclass.Truncate, "%d bytes for %d", m.size, room)
	}
	q.rank.p.flaw.spoil(q.rank.p.rng, data, &q.status, room)
	store(q.buf, data)
	q.over = true
	m.from.over = true
}

// capacity returns how many bytes fit in a buffer.
func capacity(b core.Buffer) int {
	if b.Type == nil {
		return len(b.Mem)
	}
	return b.Count * b.Type.Size()
}

func load(b core.Buffer) []byte {
	if b.Type == nil {
		return append([]byte{}, b.Mem...)
	}
	data := make([]byte, capacity(b))
	if _, err := b.Type.Pack(data, b.Mem, b.Origin, b.Count); err != nil {
		panic(err)
	}
	return data
}

func store(b core.Buffer, data []byte) {
	if b.Type == nil {
		copy(b.Mem, data)
	} else if _, err := b.Type.Unpack(b.Mem, b.Origin, b.Count, data); err != nil {
		panic(err)
	}
}

func (r *plainRank) SendInit(comm int, mode core.Mode, buf core.Buffer, dst, tag int) (Persistent, error) {
	q := &plainRequest{rank: r, comm: comm, buf: buf, again: true}
	q.start = func() {
		m := &plainMessage{src: r.n, dst: dst, comm: comm, tag: tag, size: capacity(buf), mode: mode, from: q}
		q.message, q.status = m, core.Empty
		small := m.size <= plainEager && mode != core.Synchronous
		if small || mode == core.Buffered {
			m.data, q.over = load(buf), true
		}
		w := r.n*len(r.p.ranks) + dst
		r.p.wires[w] = append(r.p.wires[w], m)
	}
	return q, nil
}

func (r *plainRank) RecvInit(comm int, buf core.Buffer, src, tag int) (Persistent, error) {
	q := &plainRequest{rank: r, comm: comm, buf: buf, src: src, tag: tag, again: true}
	q.start = func() {
		if i := r.find(q); i >= 0 {
			q.take(r.remove(i))
		} else {
			r.posted = append(r.posted, q)
		}
	}
	return q, nil
}

// once starts a request that is not persistent.
func once(p Persistent, err error) (Request, error) {
	q := p.(*plainRequest)
	q.again = false
	return q, errors.Join(err, q.Start())
}

func (r *plainRank) Isend(comm int, mode core.Mode, buf core.Buffer, dst, tag int) (Request, error) {
	return once(r.SendInit(comm, mode, buf, dst, tag))
}

func (r *plainRank) Irecv(comm int, buf core.Buffer, src, tag int) (Request, error) {
	return once(r.RecvInit(comm, buf, src, tag))
}

func (r *plainRank) Iprobe(comm int, src, tag int) (core.Status, bool, error) {
	i := r.find(&plainRequest{comm: comm, src: src, tag: tag})
	if i < 0 {
		return core.Empty, false, nil
	}
	return r.early[i].status(), true, nil
}

func (m *plainMessage) status() core.Status {
	return core.Status{Source: m.src, Tag: m.tag, Bytes: m.size}
}

func (r *plainRank) Improbe(comm int, src, tag int) (Message, bool, error) {
	i := r.find(&plainRequest{comm: comm, src: src, tag: tag})
	if i < 0 {
		return nil, false, nil
	}
	return plainTaken{r, r.remove(i)}, true, nil
}

type plainTaken struct {
	r *plainRank
	m *plainMessage
}

func (t plainTaken) Status() core.Status { return t.m.status() }

func (t plainTaken) Irecv(buf core.Buffer) (Request, error) {
	q := &plainRequest{rank: t.r, buf: buf, active: true}
	q.take(t.m)
	return q, nil
}

func (q *plainRequest) IsNull() bool { return false }

func (q *plainRequest) Start() error {
	q.active, q.over, q.err = true, false, nil
	q.start()
	return nil
}

func (q *plainRequest) Free() error { return nil }

func (q *plainRequest) Peek() (core.Status, bool, error) {
	if !q.active {
		return core.Empty, true, nil
	}
	return q.status, q.over, q.err
}

func (q *plainRequest) Test() (core.Status, bool, error) {
	st, ok, err := q.Peek()
	q.active = q.active && !ok
	return st, ok, err
}

func (q *plainRequest) Wait(context.Context) (core.Status, error) {
	panic("coretest: nobody waits here")
}

// Cancel cancels the request if that is possible.
func (q *plainRequest) Cancel() error {
	if !q.active || q.over {
		return nil
	}
	from := &q.rank.posted
	gone := remove(from, q)
	if q.message != nil {
		p := q.rank.p
		gone = remove(&p.wires[q.message.src*len(p.ranks)+q.message.dst], q.message) || remove(&p.ranks[q.message.dst].early, q.message)
		if gone && p.flaw == CancelledComes {
			q.message.data = load(q.buf)
			p.ranks[q.message.dst].arrive(q.message)
		}
	}
	if gone {
		q.over, q.status, q.err = true, core.Status{Source: core.AnySource, Tag: core.AnyTag, Cancelled: true}, nil
	}
	return nil
}

func remove[T comparable](list *[]T, item T) bool {
	for i, x := range *list {
		if x == item {
			*list = append((*list)[:i:i], (*list)[i+1:]...)
			return true
		}
	}
	return false
}

package mpiperf

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// tag is the tag of all messages.
const tag = 7

// forever is the context of all calls: only the end of the job ends a measurement.
var forever = context.Background()

// messageTests are the tests of messages, between two ranks.
var messageTests = []spec{
	message(perf.Latency, 0, messagesMax, openPingPong),
	message(perf.Rate, 0, 4<<10, openPour),
	message(perf.Bandwidth, 1, messagesMax, openPour),
	message(perf.Bidirectional, 1, messagesMax, openExchange),
	message(Partitioned, Partitions, messagesMax, openPartitioned),
}

func message(test perf.Test, sizeMin, sizeMax int, open func(*mpi.Comm, setup) (job, error)) spec {
	return spec{test: test, kind: messages, sizeMin: sizeMin, sizeMax: sizeMax, blocks: func(_, window int) int { return 1 + window }, open: open}
}

// A pair is the common part of the tests of messages: a rank's memory, with one block to
// send from, and one to receive into for each message in progress.
type pair struct {
	c     *mpi.Comm
	peer  int
	out   []byte
	in    [][]byte
	sends []mpi.Request
	recvs []mpi.Request
}

func newPair(c *mpi.Comm, s setup) *pair {
	size, window := s.size, s.window
	p := &pair{c: c, peer: 1 - c.Rank(), out: touched(size), sends: make([]mpi.Request, window), recvs: make([]mpi.Request, window)}
	// Messages start on separate cache lines.
	const line = 64
	stride := (size + line - 1) &^ (line - 1)
	mem := touched(stride * window)
	for i := range window {
		p.in = append(p.in, mem[i*stride:][:size:size])
	}
	return p
}

// touched returns memory of which every page has been written.
func touched(size int) []byte {
	mem := make([]byte, size)
	for i := range mem {
		mem[i] = 1
	}
	return mem
}

func (p *pair) fill(round int) {
	block{p.c.Rank(), p.peer}.fill(p.out, round)
	for _, in := range p.in {
		spoil(in, block{p.peer, p.c.Rank()}, round)
	}
}

func (p *pair) check(round int) error {
	for _, in := range p.in {
		if err := (block{p.peer, p.c.Rank()}).check(in, round); err != nil {
			return err
		}
	}
	return nil
}

func (p *pair) postSends() {
	for i := range p.sends {
		p.sends[i] = p.c.Isend(mpi.Slice(p.out), p.peer, tag)
	}
}

func (p *pair) postRecvs() {
	for i := range p.recvs {
		p.recvs[i] = p.c.Irecv(mpi.Slice(p.in[i]), p.peer, tag)
	}
}

// A pingPong is a message to the other rank and one of the same size back.
type pingPong struct{ *pair }

func openPingPong(c *mpi.Comm, s setup) (job, error) { return pingPong{newPair(c, s)}, nil }

func (pingPong) ready(int) error { return nil }

func (p pingPong) once() (err error) {
	for turn := 0; turn < pairRanks && err == nil; turn++ {
		if turn == p.c.Rank() {
			err = p.c.Send(forever, mpi.Slice(p.out), p.peer, tag)
		} else {
			_, err = p.c.Recv(forever, mpi.Slice(p.in[0]), p.peer, tag)
		}
	}
	return err
}

// windows are the tests with many messages in progress. The receives of a window are
// posted before the window is requested, except for the last one.
type windows struct {
	*pair
	left int // windows still to come
}

func (w *windows) ready(n int) error {
	w.left = n
	w.postRecvs()
	return nil
}

// received waits for a window, and posts the receives of the next one.
func (w *windows) received() error {
	if err := mpi.WaitAll(forever, w.recvs...); err != nil {
		return err
	}
	if w.left--; w.left > 0 {
		w.postRecvs()
	}
	return nil
}

// A pour sends windows of messages from rank 0, which receives nothing, to rank 1. Each is
// answered by an empty message.
type pour struct{ windows }

func openPour(c *mpi.Comm, s setup) (job, error) {
	p := newPair(c, s)
	if c.Rank() == 0 {
		p.in, p.recvs = nil, nil
	}
	return &pour{windows{pair: p}}, nil
}

func (p *pour) once() error {
	if p.c.Rank() != 0 {
		if err := p.received(); err != nil {
			return err
		}
		return p.c.Send(forever, mpi.Slice(p.out[:0]), p.peer, tag)
	}
	p.postSends()
	if err := mpi.WaitAll(forever, p.sends...); err != nil {
		return err
	}
	_, err := p.c.Recv(forever, mpi.Slice(p.out[:0]), p.peer, tag)
	return err
}

// An exchange is a window of messages each way, both at once.
type exchange struct{ windows }

func openExchange(c *mpi.Comm, s setup) (job, error) {
	return &exchange{windows{pair: newPair(c, s)}}, nil
}

func (p *exchange) once() error {
	p.postSends()
	if err := p.received(); err != nil {
		return err
	}
	return mpi.WaitAll(forever, p.sends...)
}

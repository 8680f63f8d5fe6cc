package mpiperf

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// tag is the tag of all messages.
const tag = 7

// forever is the context of all calls: only the end of the job ends a measurement.
var forever = context.Background()

// A pair is the common part of the tests of messages: a rank's memory, with one block to
// send from, and one to receive into for each message in progress.
type pair struct {
	c     *mpi.Comm
	peer  int
	size  int
	out   []byte
	in    [][]byte
	sends []mpi.Request
	recvs []mpi.Request
}

func newPair(c *mpi.Comm, s setup) *pair {
	size, window := s.size, s.window
	p := &pair{c: c, peer: 1 - c.Rank(), size: size, out: touched(size)}
	p.sends, p.recvs = make([]mpi.Request, window), make([]mpi.Request, window)
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

func (p pingPong) once() error {
	if p.c.Rank() == 0 {
		if err := p.c.Send(forever, mpi.Slice(p.out), p.peer, tag); err != nil {
			return err
		}
		_, err := p.c.Recv(forever, mpi.Slice(p.in[0]), p.peer, tag)
		return err
	}
	if _, err := p.c.Recv(forever, mpi.Slice(p.in[0]), p.peer, tag); err != nil {
		return err
	}
	return p.c.Send(forever, mpi.Slice(p.out), p.peer, tag)
}

// windows are the tests with many messages in progress. The receives of a window are
// posted before the window is requested, except for the last one.
type windows struct {
	*pair
	left int // windows still to come
}

// A pour sends windows of messages from rank 0 to rank 1, each answered by an empty
// message.
type pour struct{ windows }

func openPour(c *mpi.Comm, s setup) (job, error) {
	return &pour{windows{pair: newPair(c, s)}}, nil
}

func (p *pour) ready(n int) error {
	p.left = n
	if p.c.Rank() == 0 {
		return nil
	}
	p.postRecvs()
	return nil
}

func (p *pour) once() error {
	if p.c.Rank() == 0 {
		p.postSends()
		if err := mpi.WaitAll(forever, p.sends...); err != nil {
			return err
		}
		_, err := p.c.Recv(forever, mpi.Slice(p.in[0][:0]), p.peer, tag)
		return err
	}
	if err := mpi.WaitAll(forever, p.recvs...); err != nil {
		return err
	}
	if p.left--; p.left > 0 {
		p.postRecvs()
	}
	return p.c.Send(forever, mpi.Slice(p.out[:0]), p.peer, tag)
}

// check checks the contents at rank 1, because rank 0 receives nothing.
func (p *pour) check(round int) error {
	if p.c.Rank() == 0 {
		return nil
	}
	return p.pair.check(round)
}

// An exchange is a window of messages each way, both at once.
type exchange struct{ windows }

func openExchange(c *mpi.Comm, s setup) (job, error) {
	return &exchange{windows{pair: newPair(c, s)}}, nil
}

func (p *exchange) ready(n int) error {
	p.left = n
	p.postRecvs()
	return nil
}

func (p *exchange) once() error {
	p.postSends()
	if err := mpi.WaitAll(forever, p.recvs...); err != nil {
		return err
	}
	if p.left--; p.left > 0 {
		p.postRecvs()
	}
	return mpi.WaitAll(forever, p.sends...)
}

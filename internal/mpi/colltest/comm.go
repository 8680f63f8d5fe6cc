package colltest

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A comm is a rank's view of its group, or of the other group.
type comm struct {
	p          *proc
	base, size int // the rank's own group
	farBase    int // the group that messages go to
	far        int
	machine    *coll.Machine
}

var _ coll.Remote = (*comm)(nil)

func (c *comm) Rank() int { return c.p.id - c.base }
func (c *comm) Size() int { return c.size }

// Machine is what World.On and World.Tune said.
func (c *comm) Machine() *coll.Machine { return c.machine }

func (c *comm) RemoteSize() int { return c.far }

func (c *comm) Local() coll.Comm {
	return &comm{p: c.p, base: c.base, size: c.size, farBase: c.base, far: c.size}
}

func (c *comm) Send(to int, b []byte) error { return wait(c.Isend(to, b)) }

func (c *comm) Recv(from int, b []byte) error { return wait(c.Irecv(from, b)) }

func (c *comm) Exchange(to int, out []byte, from int, in []byte) error {
	r, err := c.Irecv(from, in)
	if err != nil {
		return err
	}
	return errors.Join(wait(c.Isend(to, out)), r.Wait())
}

func wait(p coll.Pending, err error) error {
	if err != nil {
		return err
	}
	return p.Wait()
}

func (c *comm) Isend(to int, b []byte) (coll.Pending, error) {
	return c.begin(&op{p: c.p, send: true, peer: to, buf: b, eager: c.p.w.eager()})
}

func (c *comm) Irecv(from int, b []byte) (coll.Pending, error) {
	return c.begin(&op{p: c.p, peer: from, buf: b})
}

// begin lets other ranks run first, or not, and posts o.
func (c *comm) begin(o *op) (coll.Pending, error) {
	p, w := c.p, c.p.w
	if w.rng.IntN(2) == 0 || w.stuck != nil {
		if err := p.pause(o, nil); err != nil {
			return nil, err
		}
	}
	there := c.farBase + o.peer
	if o.peer < 0 || o.peer >= c.far || there == p.id {
		err := errclass.New(errclass.Rank, "rank %d of a group of %d: %v", p.id, c.far, o)
		w.faults = append(w.faults, err)
		return nil, err
	}
	p.exclusive(o)
	p.open = append(p.open, o)
	if o.send {
		w.messages++
		w.bytes += len(o.buf)
		if w.hosts != nil && w.hosts.Of()[p.id] != w.hosts.Of()[there] {
			w.between++
		}
		w.pairs[p.id*len(w.procs)+there].post(o)
	} else {
		w.pairs[there*len(w.procs)+p.id].post(o)
	}
	return o, nil
}

// exclusive reports a buffer that overlaps with that of another operation, unless
// both only read.
func (p *proc) exclusive(o *op) {
	for _, other := range p.open {
		if (!o.send || !other.send) && overlap(o.buf, other.buf) {
			p.w.fault("rank %d: %v uses memory that %v has", p.id, o, other)
		}
	}
}

func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	atA, atB := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return atA < atB+uintptr(len(b)) && atB < atA+uintptr(len(a))
}

// A pair has the unmatched operations between two ranks, in one direction. One of
// the two lists is empty.
type pair struct{ sends, recvs []*op }

func (q *pair) post(o *op) {
	mine, others := &q.recvs, &q.sends
	if o.send {
		mine, others = others, mine
	}
	if len(*others) == 0 {
		*mine = append(*mine, o)
		return
	}
	first := (*others)[0]
	*others = (*others)[1:]
	if o.send {
		match(o, first)
	} else {
		match(first, o)
	}
}

// An op is a send or a receive.
type op struct {
	p       *proc
	send    bool
	eager   bool // a send that does not wait for its receive
	peer    int  // as the caller named it
	buf     []byte
	message []byte // contents of the message, once taken
	taken   bool
	matched bool
}

func (o *op) String() string {
	if o.send {
		return fmt.Sprintf("a send of %d bytes to %d", len(o.buf), o.peer)
	}
	return fmt.Sprintf("a receive of %d bytes from %d", len(o.buf), o.peer)
}

// take reads the buffer of a send. The sender must not have changed it.
func (o *op) take() []byte {
	if !o.taken {
		o.taken = true
		o.message = slices.Clone(o.buf)
	}
	return o.message
}

func match(send, recv *op) {
	recv.message = send.take()
	send.matched, recv.matched = true, true
}

// Wait implements coll.Pending.
func (o *op) Wait() error {
	p := o.p
	i := slices.Index(p.open, o)
	if i < 0 {
		p.w.fault("rank %d waited twice for %v", p.id, o)
		return nil
	}
	defer func() { p.open = slices.Delete(p.open, i, i+1) }()
	if o.send && o.eager {
		o.take()
		return nil
	}
	if !o.matched {
		if err := p.pause(o, func() bool { return o.matched }); err != nil {
			return err
		}
	}
	if o.send {
		return nil
	}
	if len(o.message) != len(o.buf) {
		return errclass.New(errclass.Truncate, "%v got %d bytes", o, len(o.message))
	}
	copy(o.buf, o.message)
	return nil
}

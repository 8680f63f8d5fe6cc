package coretest

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// A Rank is one process of a program. Its calls wait in the Port if that is Blocking; otherwise
// they yield to the other ranks until a test succeeds.
type Rank struct {
	Port
	N   int             // this rank, from 0
	Ctx context.Context // ends the waits

	yield func() // nil if the Port is Blocking
}

// NewRank makes a rank of a Blocking, or, if yield is not nil, of any Port: yield then runs the
// other ranks.
func NewRank(ctx context.Context, port Port, n int, yield func()) *Rank {
	return &Rank{Port: port, N: n, Ctx: ctx, yield: yield}
}

// blocking returns the Port if its calls wait.
func (r *Rank) blocking() (Blocking, bool) {
	if r.yield != nil {
		return nil, false
	}
	b, ok := r.Port.(Blocking)
	if !ok {
		panic("coretest: the port cannot wait, and there is nobody to yield to")
	}
	return b, true
}

// until yields until done returns true or an error.
func (r *Rank) until(done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if err := r.Ctx.Err(); err != nil {
			return err
		}
		r.yield()
	}
}

// Wait waits for one request.
func (r *Rank) Wait(q Request) (st core.Status, err error) {
	if _, ok := r.blocking(); ok {
		return q.Wait(r.Ctx)
	}
	err = r.until(func() (ok bool, err error) {
		st, ok, err = q.Test()
		return ok, err
	})
	return st, err
}

// WaitAny waits for any of the requests.
func (r *Rank) WaitAny(rs []Request) (i int, st core.Status, err error) {
	if b, ok := r.blocking(); ok {
		return b.WaitAny(r.Ctx, rs)
	}
	err = r.until(func() (ok bool, err error) {
		i, st, ok, err = r.TestAny(rs)
		return ok, err
	})
	return i, st, err
}

// WaitAll waits for all of the requests.
func (r *Rank) WaitAll(rs []Request, statuses []core.Status, errs []error) error {
	if b, ok := r.blocking(); ok {
		return b.WaitAll(r.Ctx, rs, statuses, errs)
	}
	return r.until(func() (bool, error) { return r.TestAll(rs, statuses, errs) })
}

// WaitSome waits for some of the requests.
func (r *Rank) WaitSome(rs []Request, statuses []core.Status, errs []error) (indices []int, err error) {
	if b, ok := r.blocking(); ok {
		return b.WaitSome(r.Ctx, rs, nil, statuses, errs)
	}
	err = r.until(func() (bool, error) {
		indices, err = r.TestSome(rs, indices[:0], statuses, errs)
		return len(indices) > 0, err
	})
	return indices, err
}

// Send sends and waits.
func (r *Rank) Send(comm int, mode core.Mode, buf core.Buffer, dst, tag int) error {
	if b, ok := r.blocking(); ok {
		return b.Send(comm, mode, buf, dst, tag)
	}
	q, err := r.Isend(comm, mode, buf, dst, tag)
	if err == nil {
		_, err = r.Wait(q)
	}
	return err
}

// Recv receives and waits.
func (r *Rank) Recv(comm int, buf core.Buffer, src, tag int) (core.Status, error) {
	if b, ok := r.blocking(); ok {
		return b.Recv(comm, buf, src, tag)
	}
	q, err := r.Irecv(comm, buf, src, tag)
	if err != nil {
		return core.Status{}, err
	}
	return r.Wait(q)
}

// Exchange sends and receives at once.
func (r *Rank) Exchange(comm int, out core.Buffer, dst, sendTag int, in core.Buffer, src, recvTag int) (core.Status, error) {
	if b, ok := r.blocking(); ok {
		return b.Exchange(comm, out, dst, sendTag, in, src, recvTag)
	}
	recv, err := r.Irecv(comm, in, src, recvTag)
	if err != nil {
		return core.Status{}, err
	}
	send, err := r.Isend(comm, core.Standard, out, dst, sendTag)
	if err != nil {
		return core.Status{}, err
	}
	if _, err = r.Wait(send); err != nil {
		return core.Status{}, err
	}
	return r.Wait(recv)
}

// Probe waits for a message.
func (r *Rank) Probe(comm, src, tag int) (st core.Status, err error) {
	if b, ok := r.blocking(); ok {
		return b.Probe(r.Ctx, comm, src, tag)
	}
	err = r.until(func() (ok bool, err error) {
		st, ok, err = r.Iprobe(comm, src, tag)
		return ok, err
	})
	return st, err
}

// Mprobe waits for a message and takes it.
func (r *Rank) Mprobe(comm, src, tag int) (m Message, err error) {
	if b, ok := r.blocking(); ok {
		return b.Mprobe(r.Ctx, comm, src, tag)
	}
	err = r.until(func() (ok bool, err error) {
		m, ok, err = r.Improbe(comm, src, tag)
		return ok, err
	})
	return m, err
}

package mpi

import (
	"context"
	"errors"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// closeTimeMax is how long methods may take to deliver messages to processes that are not in
// Finalize.
const closeTimeMax = 5 * time.Second

// Finalize ends the process's part in its job (MPI_Finalize; MPI-4.1, 11.2.2). It waits until all
// other processes are in Finalize and all messages are sent, or until ctx ends, and then closes
// everything in any case. It does not wait for processes that failed; if messages to them were lost, and no call has returned
// an error of class ErrProcFailed yet, Finalize does. Messages in attached buffers
// are sent; a buffer of a communicator other than World and Self must be detached before. Requests
// that are still pending end with ErrOther, and Finalize returns an error of class ErrPending with
// their number: wait for requests or cancel them before.
func (p *Process) Finalize(ctx context.Context) error {
	ctx = orBackground(ctx)
	if p.ending.Swap(true) {
		return errclass.New(errclass.Other, "the process has been finalized already: call Finalize once")
	}
	var leave func()
	var err error
	if p.hook != nil {
		leave = p.call("MPI_Finalize", &err)
	}
	err = p.finalize(ctx)
	if leave != nil {
		leave()
	}
	return err
}

func (p *Process) finalize(ctx context.Context) error {
	errs := []error{p.self.parts.attrs.DeleteAll(p.self)} // MPI-4.1, 11.2.4
	if !p.manual {
		for _, buffer := range []*bsendBuffer{&p.world.bsends, &p.self.bsends} {
			errs = append(errs, buffer.drain(ctx)) // as if the buffers were detached (MPI-4.1, 11.2.2)
		}
	}
	early := p.leftovers.Load() == 0
	if early {
		errs = append(errs, p.checkPending())
	}
	aware := p.engine.Aware()
	if !p.manual {
		errs = append(errs, p.farewell(ctx))
	}
	if !early { // the other processes have finished, so operations with them have ended
		errs = append(errs, p.checkPending())
	}
	p.ports.closeAll()
	p.finalized.Store(true)
	if p.hide != nil {
		p.hide()
	}
	closed := p.engine.Close(ctx) // now every message has been sent, or is lost
	if lost := p.engine.Stats().Lost; lost > 0 && !aware {
		errs = append(errs, errclass.New(errclass.ProcFailed, "messages did not arrive (%d), because processes failed after their sends had returned: a call that waits for an answer would have reported it", lost))
	}
	errs = append(errs, closed, p.boot.Finalize(ctx))
	if err := p.shut(ctx); err != nil {
		p.log.Debug("mpi: the endpoint was closed with something on its way", "cause", err)
	}
	return firstOf(append(errs, p.boot.Close()))
}

// shut closes the endpoint. No process of this job waits for a message any more, so undelivered
// messages do not matter. Processes of other jobs go on, so messages to them get some time to
// arrive.
func (p *Process) shut(ctx context.Context) error {
	drain := closeTimeMax
	if !p.strangers.Load() {
		drain = 0
	}
	ctx, cancel := context.WithTimeout(ctx, drain)
	defer cancel()
	return p.ep.Shutdown(ctx)
}

// checkPending returns an error if requests are pending.
func (p *Process) checkPending() error {
	if st := p.engine.Stats(); st.Posted+st.Sending > 0 {
		return errclass.New(errclass.Pending, "Finalize was called while %d receives and %d sends were pending: wait for them, or cancel them, before", st.Posted, st.Sending)
	}
	return nil
}

// farewellFan is how many processes a process waits for in farewell.
const farewellFan = 32

// The tags of farewell.
const (
	arrivedTag = iota + 1 // the sender, and all processes below it, are in farewell
	leaveTag              // all processes are
)

// farewell waits until all processes of the world that have not failed are in it. They form a tree,
// so that each needs a connection to one other: where many processes share a host, connections cost
// more than the time that messages take from one level to the next.
func (p *Process) farewell(ctx context.Context) error {
	size, rank := p.world.Size(), p.world.rank
	if size == 1 {
		return nil
	}
	s, err := p.engine.OpenScope(core.Farewell, rank, p.world.group.Members())
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	above, first := (rank-1)/farewellFan, rank*farewellFan+1
	m := farewells{s: s}
	for below := first; below < min(first+farewellFan, size); below++ {
		m.hear(below, arrivedTag)
	}
	if err := m.wait(ctx); err != nil {
		return err
	}
	if rank > 0 {
		m.tell(above, arrivedTag)
		m.hear(above, leaveTag)
		if err := m.wait(ctx); err != nil {
			return err
		}
	}
	for below := first; below < min(first+farewellFan, size); below++ {
		m.tell(below, leaveTag)
	}
	return m.wait(ctx)
}

// farewells are messages without data to and from other processes. Those of a process that failed are
// not waited for.
type farewells struct {
	s       *core.Scope
	pending []core.Request
	err     error // the first that is no failure of a process
}

func (m *farewells) hear(from, tag int) { m.add(m.s.Irecv(core.Buffer{}, from, tag)) }

func (m *farewells) tell(to, tag int) { m.add(m.s.Isend(core.Standard, core.Buffer{}, to, tag)) }

func (m *farewells) add(r core.Request, err error) {
	if err == nil {
		m.pending = append(m.pending, r)
	} else if m.err == nil {
		m.err = unlessFailed(err)
	}
}

// wait waits for all messages.
func (m *farewells) wait(ctx context.Context) error {
	for _, r := range m.pending {
		if _, err := r.Wait(ctx); unlessFailed(err) != nil {
			return errclass.Wrap(errclass.Other, err, "not all processes came to Finalize")
		}
	}
	m.pending = m.pending[:0]
	return m.err
}

// unlessFailed returns err, or nil if err is the failure of a process.
func unlessFailed(err error) error {
	if errors.Is(err, errclass.ProcFailed) {
		return nil
	}
	return err
}

// firstOf returns the first of several errors: the first names the cause, and the others follow
// from it.
func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

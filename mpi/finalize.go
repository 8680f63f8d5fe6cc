package mpi

import (
	"context"
	"errors"
	"time"

	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// closeTimeMax is how long methods may take to deliver messages to processes that are not in
// Finalize.
const closeTimeMax = 5 * time.Second

// farewellContext is the context of the messages by which processes wait for each other in
// Finalize.
const farewellContext core.ContextID = 4

// Finalize ends the process's part in its job (MPI_Finalize; MPI-4.1, 11.2.2). It waits until all
// other processes are in Finalize and all messages are sent, or until ctx ends, and then closes
// everything in any case. It does not wait for processes that failed. Messages in attached buffers
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
	errs = append(errs, p.checkPending())
	if !p.manual {
		errs = append(errs, p.farewell(ctx))
	}
	p.ports.closeAll()
	p.finalized.Store(true)
	errs = append(errs, p.engine.Close(ctx), p.boot.Finalize(ctx))
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

// farewell waits until all processes of the world that have not failed are in it. In round i each
// sends to the one 2^i after it, and receives from the one 2^i before it.
func (p *Process) farewell(ctx context.Context) error {
	size := p.world.Size()
	if size == 1 {
		return nil
	}
	s, err := p.engine.OpenScope(farewellContext, p.world.rank, p.world.group.Members())
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for step := 1; step < size; step *= 2 {
		to, from := (p.world.rank+step)%size, (p.world.rank-step+size)%size
		if err := pass(ctx, s, to, from, step); err != nil {
			return err
		}
	}
	return nil
}

// pass is one round of farewell.
func pass(ctx context.Context, s *core.Scope, to, from, tag int) error {
	heard, err := s.Irecv(core.Buffer{}, from, tag)
	if err := unlessFailed(err); err != nil {
		return err
	}
	told, err := s.Isend(core.Standard, core.Buffer{}, to, tag)
	if err := unlessFailed(err); err != nil {
		return err
	}
	for _, r := range []core.Request{heard, told} {
		if _, err := r.Wait(ctx); unlessFailed(err) != nil {
			return errclass.Wrap(errclass.Other, err, "not all processes came to Finalize")
		}
	}
	return nil
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

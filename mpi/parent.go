package mpi

import (
	"context"
	"net"
	"time"

	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Parent returns the inter-communicator with the processes that spawned this one
// (MPI_Comm_get_parent; MPI-4.1, 11.8.2). It returns nil if the process was not spawned, or has
// freed that communicator. Init makes it.
func (p *Process) Parent() *Comm {
	if p.parent.checkLive() != nil {
		return nil
	}
	return p.parent
}

// findParent finds out whether the process was spawned, and the port at which its parents wait.
func (p *Process) findParent(ctx context.Context) error {
	s, ok := p.boot.(boot.Spawner)
	if !ok || !s.Parent() {
		return nil
	}
	port, err := s.Get(ctx, parentKey)
	if err != nil {
		return errclass.Wrap(errclass.Port, err, "this process was spawned by one that does not say where it listens: is it no program of this library?")
	}
	p.parentPort = port
	return nil
}

// meetParent joins a spawned world with the processes that spawned it.
func (p *Process) meetParent(ctx context.Context) error {
	if p.parentPort == "" {
		return nil
	}
	comm, err := p.world.meetOver(0, func() (net.Conn, error) { return dialPort(ctx, p.parentPort) }, ctx)
	if err != nil {
		return errclass.Wrap(errclass.Of(err), err, "no communicator with the processes that spawned this one")
	}
	p.parent = comm
	comm.name = "MPI_COMM_PARENT"
	return nil
}

// tellParent tells the processes that wait for this one why it cannot come. It is no error if they
// are gone already.
func (p *Process) tellParent(why error) {
	if p.parentPort == "" {
		return
	}
	ctx, cancel := context.WithTimeout(background, greetTimeMax)
	defer cancel()
	if err := declinePort(ctx, p.parentPort, why); err != nil {
		p.log.Debug("mpi: the processes that spawned this one do not listen", "cause", err)
	}
}

// boundedBy returns a context with a deadline: after most, if ctx has none.
func boundedBy(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, most)
}

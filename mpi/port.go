package mpi

import (
	"context"
	"net"

	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// OpenPort makes a name by which processes of other jobs reach this one with Connect
// (MPI_Open_port; MPI-4.1, 11.9.2). The port listens on TCP; only processes that know its name can
// connect. hints may contain "ip_address", the address of this machine to listen on. Without it,
// OpenPort listens on a loopback address if all processes of the job are on this machine, and else
// on one that other hosts reach. ClosePort and Finalize close the port.
func (p *Process) OpenPort(ctx context.Context, hints *Info) (name string, err error) {
	defer p.call("MPI_Open_port", &err)()
	ctx = orBackground(ctx)
	if p.finalized.Load() {
		return "", errFinalized
	}
	host, ok := hints.Get("ip_address")
	if !ok {
		if host, err = listenHost(ctx, p.oneHost()); err != nil {
			return "", errclass.Wrap(errclass.Port, err, "no address to listen on: name one under ip_address")
		}
	}
	return p.ports.open(ctx, host)
}

// oneHost tells whether all processes of the job are on this machine.
func (p *Process) oneHost() bool {
	mine := p.engine.Self().Card().Host
	for _, proc := range p.world.group.All() {
		if proc.Card().Host != mine {
			return false
		}
	}
	return true
}

// ClosePort closes a port that OpenPort opened (MPI_Close_port; MPI-4.1, 11.9.2). A process waiting
// in Connect gets an error.
func (p *Process) ClosePort(name string) (err error) {
	defer p.call("MPI_Close_port", &err)()
	return p.ports.close(name)
}

// Accept waits until a group of another job connects to a port of the root, and joins that group
// with the group of c to an inter-communicator (MPI_Comm_accept; MPI-4.1, 11.9.2). All processes of
// c must call it. ctx and port matter only at the root, whose ctx limits the wait. If ctx ends
// after the groups have met, other processes may get a communicator that is revoked.
func (c *Comm) Accept(ctx context.Context, port string, root int) (inter *Comm, err error) {
	defer c.call("MPI_Comm_accept", &err)()
	ctx = orBackground(ctx)
	return c.meetOver(root, func() (net.Conn, error) { return c.p.ports.accept(ctx, port) }, ctx)
}

// Connect joins the group of c with a group that calls Accept on a port (MPI_Comm_connect; MPI-4.1,
// 11.9.3). All processes of c must call it. ctx and port matter only at the root, whose ctx limits
// the wait.
func (c *Comm) Connect(ctx context.Context, port string, root int) (inter *Comm, err error) {
	defer c.call("MPI_Comm_connect", &err)()
	ctx = orBackground(ctx)
	return c.meetOver(root, func() (net.Conn, error) { return dialPort(ctx, port) }, ctx)
}

// meetOver joins two groups over a connection between their roots, which get returns.
func (c *Comm) meetOver(root int, get func() (net.Conn, error), ctx context.Context) (*Comm, error) {
	if err := c.checkJoin(root); err != nil {
		return nil, err
	}
	if c.rank != root {
		return c.join(background, root, nil)
	}
	conn, err := get()
	if err != nil {
		return c.join(background, root, failedBridge{err})
	}
	defer func() { _ = conn.Close() }() // errors do not matter any more
	return c.join(ctx, root, connBridge{ctx: ctx, conn: conn})
}

// Join joins this process and the process at the other end of a connection, which must call Join
// too, to an inter-communicator (MPI_Comm_join; MPI-4.1, 11.10.5). Afterwards the connection
// belongs to the caller again, without unread data. The two processes must reach each other by a
// method that both have.
func (p *Process) Join(ctx context.Context, conn net.Conn) (inter *Comm, err error) {
	defer p.call("MPI_Comm_join", &err)()
	ctx = orBackground(ctx)
	if conn == nil {
		return nil, errclass.New(errclass.Arg, "the connection is nil")
	}
	if err := p.self.checkLive(); err != nil {
		return nil, err
	}
	return p.self.join(ctx, 0, connBridge{ctx: ctx, conn: conn})
}

// Disconnect is Free, but waits until all processes of both groups have called it, and so until all
// communication between them has ended (MPI_Comm_disconnect; MPI-4.1, 11.10.4).
func (c *Comm) Disconnect(ctx context.Context) (err error) {
	defer c.call("MPI_Comm_disconnect", &err)()
	if err := c.run(ctx, c.barrier()); err != nil {
		return err
	}
	return c.end()
}

// PublishName publishes a port under a service name, for other jobs of the same launcher
// (MPI_Publish_name; MPI-4.1, 11.9.4). If the launcher has no name service, the error has class
// ErrService or ErrUnsupportedOperation.
func (p *Process) PublishName(ctx context.Context, service, port string) (err error) {
	defer p.call("MPI_Publish_name", &err)()
	ctx = orBackground(ctx)
	n, err := p.namer()
	if err != nil {
		return err
	}
	return n.Publish(ctx, service, port)
}

// UnpublishName withdraws a published name (MPI_Unpublish_name; MPI-4.1, 11.9.4).
func (p *Process) UnpublishName(ctx context.Context, service string) (err error) {
	defer p.call("MPI_Unpublish_name", &err)()
	ctx = orBackground(ctx)
	n, err := p.namer()
	if err != nil {
		return err
	}
	return n.Unpublish(ctx, service)
}

// LookupName returns the port that is published under a service name (MPI_Lookup_name; MPI-4.1,
// 11.9.4). If there is none, the error has class ErrName.
func (p *Process) LookupName(ctx context.Context, service string) (port string, err error) {
	defer p.call("MPI_Lookup_name", &err)()
	ctx = orBackground(ctx)
	n, err := p.namer()
	if err != nil {
		return "", err
	}
	return n.Lookup(ctx, service)
}

func (p *Process) namer() (boot.Namer, error) {
	if p.finalized.Load() {
		return nil, errFinalized
	}
	n, ok := p.boot.(boot.Namer)
	if !ok {
		return nil, errclass.New(errclass.UnsupportedOperation, "what started this process keeps no names of services: hand the port's name on by other means")
	}
	return n, nil
}

// Package mpi is the Message Passing Interface, MPI-4.1, for Go programs: processes with
// ranks that send each other messages and work together in collective operations, over any
// method of package bmi.
//
// # A program
//
//	import (
//		"github.com/viaduct-hpc/viaduct/mpi"
//		_ "github.com/viaduct-hpc/viaduct/methods/tcp"
//		_ "github.com/viaduct-hpc/viaduct/methods/via"
//	)
//
//	err := mpi.Run(ctx, mpi.Options{}, func(ctx context.Context, p *mpi.Process) error {
//		w := p.World()
//		if w.Rank() == 0 {
//			return w.Send(ctx, mpi.Slice([]float64{1, 2, 3}), 1, 7)
//		}
//		xs := make([]float64, 10)
//		st, err := w.Recv(ctx, mpi.Slice(xs), mpi.AnySource, mpi.AnyTag)
//		...
//	})
//
// Run calls Init, a function and Finalize. If the function fails it calls Abort instead, because
// other processes may be waiting for this one. Programs may also call these themselves.
//
// mpiexec -n 2 ./program starts a program, as do other launchers that speak PMI. A program that was
// started without a launcher is alone in its world. The program imports the methods that its
// messages may use; Options.Method says how one is chosen.
//
// # How calls look
//
// Memory is a Buffer: Slice, Value and Typed make one, Parts and Each divide it among ranks.
// Communication is methods of Comm, with the names of the standard. A call that waits takes a
// context first: Send, Recv, Bcast. A call that begins with I returns a Request instead, which is
// waited for; with Persistent as its last argument the request is only prepared. If an operation
// cannot begin, its Request has ended with the error, so errors can be checked where the program
// waits.
//
// Errors have type *Error, with one of the standard's classes, such as ErrRank, that errors.Is
// finds, and a sentence. A communicator may have an ErrorHandler, which sees them first. No
// argument causes a panic.
//
// There is no global state: a Process is a value, and one operating-system process may hold
// several, as in tests (package mpi/mpitest). Every call may come from any goroutine
// (MPI_THREAD_MULTIPLE).
//
// # What lives where
//
// This package contains the public interface. run.go, process.go, init.go and finalize.go begin and
// end a process's life; environment.go describes its environment. options.go, methods.go, host.go
// and card.go are how processes find and reach each other. send.go, recv.go, sendrecv.go, probe.go,
// persistent.go and bsend.go are point-to-point messages, buffer.go their memory, mode.go their
// modes, request.go, waits.go and status.go their results, and grequest.go requests of the program's
// own. comm.go is the communicator; comm_*.go and context.go make them, and group.go, attr.go,
// info.go and topo*.go are their parts. inter*.go and port*.go join groups and jobs, spawn.go and
// parent.go start processes, and ulfm*.go continues after processes fail. coll_*.go and op.go are
// collective operations. errors.go, errorclass.go, check.go and hook.go surround every call.
//
// Packages mpi/rma (one-sided communication), mpi/file (files) and mpi/object (values of any type)
// are above this one. Below it, internal/mpi/core moves messages, mpi/coll has the algorithms of collective
// operations, mpi/datatype layouts of memory, and mpi/reduce operators. mpi/boot and internal/mpi/pmi start a
// job.
package mpi

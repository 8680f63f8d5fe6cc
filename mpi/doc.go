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
//	err := mpi.Run(ctx, mpi.Options{}, func(p *mpi.Process) error {
//		w := p.World()
//		if w.Rank() == 0 {
//			return mpi.Send(w, []float64{1, 2, 3}, 1, 7)
//		}
//		xs := make([]float64, 10)
//		st, err := mpi.Recv(w, xs, mpi.AnySource, mpi.AnyTag)
//		...
//	})
//
// Run is Init, a function and Finalize, or Abort if the function fails: the others may be
// waiting for this process. Programs may call these themselves.
//
// mpiexec -n 2 ./program starts it, as do other launchers that speak PMI; a program that
// nobody launched is alone in its world. The program imports the methods that its messages
// may travel by; which of them is taken between two processes, and how to say so, is at
// Options.Method.
//
// # How calls look
//
// The functions that move data are generic: a []T of numbers, of arrays and structures of
// numbers, is count elements of the datatype of T. What lies otherwise in memory is a
// Buffer, made by Typed from memory and a datatype of package mpi/datatype; for each
// function on []T there is a method of Comm on Buffers.
//
// Errors are values of type *Error, with a class of the standard (ErrRank) that errors.Is
// finds, and a sentence. A communicator may have an ErrorHandler, which sees them first. No
// argument panics. Waits have a variant that takes a context.Context: when it ends, the wait
// does, and the operation goes on.
//
// Nothing here is global: a Process is a value, and several may live in one operating-system
// process, as they do in tests (package mpi/mpitest). Every call may come from any goroutine
// (MPI_THREAD_MULTIPLE).
//
// # What lives where
//
// In this package is what users see, and what it needs to agree on. run.go, process.go, init.go and
// finalize.go begin and end, environment.go tells of the rest. options.go, methods.go, host.go
// and card.go are how processes find and reach each other. send.go, recv.go, sendrecv.go,
// probe.go, persistent.go and bsend.go are messages between two processes, buffer.go and typedin.go their
// memory, request.go, waits.go, peeks.go and status.go what they return, grequest.go requests of the program's own. comm.go is the communicator;
// comm_*.go and context.go make them, group.go, attr.go, info.go and topo*.go are what they
// have, inter*.go and port*.go join groups and jobs, spawn.go and parent.go start them, ulfm*.go goes on when processes fail.
// coll_*.go and op.go are collective operations. errors.go, errorclass.go, check.go and hook.go are around
// every call.
//
// How messages move is in mpi/core, the algorithms of collective operations in mpi/coll,
// layouts of memory in mpi/datatype, operators in mpi/reduce, and how a job is started in
// mpi/boot and mpi/pmi.
package mpi

// Package rma is one-sided communication (MPI-4.1, chapter 12): processes read, write and combine
// memory of other processes, which take no part in each access. The memory is a window.
//
//	w, err := rma.Allocate(ctx, comm, 8, 8, nil)     // a counter in each process
//	err = w.LockAll(ctx)
//	one, old := int64(1), int64(0)
//	w.FetchAndOp(mpi.Value(&one), mpi.Value(&old), rma.At(0, 0), mpi.Sum)
//	err = w.Flush(ctx, 0)                            // now old is what rank 0's counter was
//	err = w.UnlockAll(ctx)
//	err = w.Free(ctx)
//
// Operations do not wait, and return a Request that may be ignored: a flush, or the end of the
// epoch, completes them. Calls that wait take a context first. Memory is an mpi.Buffer, as in package
// mpi; At names the place in the target.
//
// # Memory
//
// The memory model is unified: a window has one copy of its memory. What an operation changed is
// visible to loads of the target after the synchronisation that completes the operation, and a Sync,
// lock or receive at the target (MPI-4.1, 12.7).
//
// Accumulates are atomic for each element, and those of one process to one place keep their order.
// An aligned number of 4 or 8 bytes is changed by an instruction of the processor; other elements
// under a lock of the target's part. A Put or Get is not atomic.
//
// # What lives where
//
// win.go has the window and what describes it; create.go and make.go make it, dynamic.go attaches
// memory, hints.go reads its hints. access.go has the operations and target.go their other side;
// quick.go and direct.go do them on mapped memory, reach.go by RDMA on memory that the target exposes,
// remote.go and pieces.go by calls, long.go by messages. serve.go executes the calls of others, and
// expose.go exposes memory to them. active.go, passive.go, flush.go and assert.go are synchronisation;
// pause.go lets others run meanwhile.
//
// rma/epoch has the rules of synchronisation, rma/apply the atomic operations, rma/share memory and
// locks that processes share, rma/wire the bodies of calls. internal/mpi/core carries the calls, in packets
// that docs/internals/protocols/mpi.md describes.
package rma

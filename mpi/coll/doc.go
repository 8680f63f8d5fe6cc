// Package coll is the collective operations of MPI (MPI-4.1, chapter 6, and 8.6
// for the neighbourhood ones) as algorithms on packed bytes over a small seam.
//
// A Comm is all that an operation sees of a communicator: ranks, and messages
// between them. Everything else is in the arguments: packed data, the type and
// the operator where something is reduced, Scratch memory, and a Choice of the
// algorithm, which is normally Auto. The functions block; a non-blocking
// collective is the same function in a goroutine of its own.
//
// What an argument means is said once, here:
//
//   - Data are packed: elements of one size one after the other. Who has
//     another layout packs before and unpacks afterwards.
//   - Where the standard allows MPI_IN_PLACE, a nil in means it: the rank's
//     contribution is where the result will be.
//   - in and out never overlap. Both belong to the operation until it returns.
//   - A root is a rank; on an inter-communicator it may be Root or ProcNull as
//     well (the functions that begin with Inter).
//   - An error of the Comm ends the operation on this rank and is returned as
//     it is. The other ranks learn of it by the means of the Comm or not at
//     all; the contents of out are undefined then.
//   - Pieces that have no bytes are not sent.
//
// One file holds one operation with its algorithms and the table of them;
// choose.go holds every threshold, in one place. Algorithms lists them for
// tests and benchmarks. Package colltest is the Comm in memory that the
// algorithms are tested on; operators are in package reduce.
package coll

// Package coll implements the collective operations of MPI (MPI-4.1, chapter 6, and
// 8.6 for the neighbourhood ones) as algorithms on packed bytes over a small
// interface.
//
// An operation sees of a communicator only a Comm: ranks, and messages between
// them. Everything else is in the arguments: packed data, the type and the operator
// of a reduction, Scratch memory, and a Choice of the algorithm, which is normally
// Auto. The functions block; a non-blocking collective operation is the same
// function in a goroutine of its own.
//
// The following holds for the arguments of all functions:
//
//   - Data are packed: elements of one size, one after another. A caller with
//     another layout packs before and unpacks afterwards.
//   - Where the standard allows MPI_IN_PLACE, a nil in means it: the rank's
//     contribution is where the result will be.
//   - in and out never overlap. Both belong to the operation until it returns.
//   - A root is a rank. On an inter-communicator it may also be Root or ProcNull
//     (the functions that begin with Inter).
//   - An error of the Comm ends the operation on this rank and is returned
//     unchanged; the contents of out are then undefined. Only the Comm can tell
//     the other ranks.
//   - Pieces of zero bytes are not sent.
//
// Each operation has a file with its algorithms and the table of them; hierarchy.go
// has those for ranks on several hosts. choose.go holds all thresholds, and tuning.go
// reads tables that overrule them. Algorithms lists the algorithms for tests and
// benchmarks. Package colltest is an in-memory Comm for tests, and package collsim a
// simulation of many ranks; operators are in package reduce.
package coll

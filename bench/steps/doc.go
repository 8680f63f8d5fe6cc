// Command steps counts the instructions that one small message takes, function by function:
//
//	go run ./bench/steps            # compiled as cmd/mpibench is, with its profile
//	go run ./bench/steps -lines     # line by line
//	go run ./bench/steps -mpi openmpi   # the same of another MPI that is installed; or mpich
//
// It starts bench/steps/traced and executes it instruction by instruction (ptrace) while that
// posts a receive, sends, and takes what has arrived. A count depends on the code and the compiler
// alone, not on the machine's load, so two versions can be compared where their times cannot.
// Of another MPI, each rank of bench/peers/steps.c runs under a tracer of its own. Functions that its
// libraries do not export are counted under the library.
//
// Instructions are not time: those that wait for memory, or for another processor, count as one.
//
// It runs on Linux on amd64 only.
package main

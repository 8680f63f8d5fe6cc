// Package apply combines elements in the memory of a window with those of an origin: accumulate,
// get-accumulate and compare-and-swap (MPI-4.1, 12.3.4). Each element is changed atomically with
// respect to all others that use this package on the same memory, also in other processes that map
// it.
//
// An aligned number of 4 or 8 bytes is changed by an instruction of the processor, or a
// compare-and-swap loop. Any other element is changed under a lock that the caller provides, one for
// each part of a window. Which of the two it is follows from the element's kind and place alone, so
// all operations on an element agree. (Elements of different kinds in one place are not atomic with
// respect to each other, nor does the standard ask for it.)
//
// op.go has the operators, elements.go the loops, swap.go compare-and-swap. The package has no state.
package apply

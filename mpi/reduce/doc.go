// Package reduce implements the operators of MPI's reductions (MPI-4.1, 6.9) on
// packed elements: the predefined ones, with a loop for each kind of element, and
// those that a program makes with New.
//
// The package is pure. Package coll decides which data are combined, and package
// datatype describes the elements.
package reduce

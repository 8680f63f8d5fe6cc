// Package reduce is the operators of MPI's reductions (MPI-4.1, 6.9) on packed
// elements: the predefined ones, with a loop for each kind of element, and
// those that a program makes with New.
//
// The package is pure. Who combines what with whom is the business of package
// coll; what the elements are, datatype says.
package reduce

// Package info is the MPI_Info object (MPI-4.1, chapter 10): an ordered list of keys with
// values, both text, by which programs hand hints to operations.
//
// It knows no key: what each means is said where it is used.
package info

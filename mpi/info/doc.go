// Package info implements the MPI_Info object (MPI-4.1, chapter 10): an ordered list of text keys
// with text values, by which programs pass hints to operations.
//
// It defines no keys; the operations that use a key describe it.
package info

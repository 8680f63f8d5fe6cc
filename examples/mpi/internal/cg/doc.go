// Package cg is the numerics of the conjugate gradient example: a sparse symmetric positive
// definite matrix, of which each process has some rows, and the method that solves a linear
// system with it.
//
// rows.go has the matrix in memory and grid.go one that is worth solving, a diffusion problem
// in two or three dimensions through layers of different rock. market.go reads and writes
// Matrix Market files. part.go finds out which elements of a vector a process needs of others
// before it can multiply, and solve.go iterates over a [Space], which is where the program's
// messages are.
//
// Nothing here sends messages: that is the example's main program.
package cg

// Package cg is the numerics of the conjugate gradient example: a sparse symmetric positive
// definite matrix, of which each process has some rows, and the method that solves a linear system
// with it.
//
// rows.go is the matrix in memory. grid.go makes a realistic one, a diffusion problem in two or
// three dimensions through layers of different rock. market.go reads and writes Matrix Market
// files. part.go finds out which elements of a vector a process needs from others before it can
// multiply. solve.go iterates over a [Space], through which the program sends its messages.
//
// The package sends no messages; the example's main program does.
package cg

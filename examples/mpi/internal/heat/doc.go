// Package heat is the numerics of the heat example: how a rectangular plate whose edge is kept
// at fixed temperatures warms up, by explicit steps on a grid of cells.
//
// A [Problem] says what to compute. A [Block] is one process's cells with a halo around them, which
// the program fills from the neighbours between steps. Cells are computed by the same operations in
// the same order however the plate is divided, so blocks agree with [Serial] in every bit. image.go
// draws the result.
//
// The package sends no messages; the example's main program does.
package heat

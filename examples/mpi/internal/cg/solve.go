package cg

import (
	"fmt"
	"math"
)

// A Space is the vectors of a program, of which each process has some elements, and its matrix.
// With several processes, both operations send messages.
type Space interface {
	// Dot returns the dot product of two vectors, which is the same on all processes.
	Dot(a, b []float64) (float64, error)
	// Multiply stores the product of the matrix and x in y.
	Multiply(y, x []float64) error
}

// A Result is the result of Solve.
type Result struct {
	Iterations int
	Residual   float64 // ‖b - Ax‖ / ‖b‖, as the iteration knows it
	Converged  bool    // Residual is at most the requested tolerance
}

// Solve improves x until ‖b - Ax‖ ≤ tolerance·‖b‖, or until the iterations are used up. It uses
// conjugate gradients, preconditioned with the diagonal of the matrix, which must be positive. All
// slices have this process's elements.
//
// An error comes from the Space, or says that the matrix is not positive definite.
func Solve(s Space, diagonal, b, x []float64, tolerance float64, iterations int) (Result, error) {
	it := iteration{
		s: s, x: x, diagonal: diagonal,
		r: make([]float64, len(b)), z: make([]float64, len(b)),
		p: make([]float64, len(b)), ap: make([]float64, len(b)),
	}
	result, err := it.start(b)
	if err != nil {
		return result, err
	}
	for {
		if result.Converged = result.Residual <= tolerance; result.Converged || result.Iterations == iterations {
			return result, nil
		}
		if err := it.step(&result); err != nil {
			return result, err
		}
	}
}

// An iteration is the state of Solve, in the usual letters: r = b - Ax is the residual, z is r
// divided by the diagonal, p the search direction.
type iteration struct {
	s              Space
	x, diagonal    []float64
	r, z, p, ap    []float64
	rz, norm, last float64 // r·z; ‖b‖; ‖r‖
}

func (it *iteration) start(b []float64) (Result, error) {
	if err := it.s.Multiply(it.ap, it.x); err != nil {
		return Result{}, err
	}
	for i := range b {
		it.r[i] = b[i] - it.ap[i]
	}
	bb, err := it.s.Dot(b, b)
	if err != nil {
		return Result{}, err
	}
	if it.norm = math.Sqrt(bb); it.norm == 0 {
		it.norm = 1 // b is 0, so x converges to 0
	}
	if err := it.precondition(); err != nil {
		return Result{}, err
	}
	copy(it.p, it.z)
	return Result{Residual: it.last / it.norm}, nil
}

// precondition computes z, r·z and ‖r‖ from r.
func (it *iteration) precondition() error {
	for i, r := range it.r {
		it.z[i] = r / it.diagonal[i]
	}
	rr, err := it.s.Dot(it.r, it.r)
	if err != nil {
		return err
	}
	it.last = math.Sqrt(rr)
	it.rz, err = it.s.Dot(it.r, it.z)
	return err
}

func (it *iteration) step(result *Result) error {
	if err := it.s.Multiply(it.ap, it.p); err != nil {
		return err
	}
	pap, err := it.s.Dot(it.p, it.ap)
	if err != nil {
		return err
	}
	if !(pap > 0) {
		return fmt.Errorf("cg: p·Ap is %v in iteration %d: the matrix is not positive definite", pap, result.Iterations+1)
	}
	alpha := it.rz / pap
	for i := range it.x {
		it.x[i] += float64(alpha * it.p[i])
		it.r[i] -= float64(alpha * it.ap[i])
	}
	before := it.rz
	if err := it.precondition(); err != nil {
		return err
	}
	beta := it.rz / before
	for i := range it.p {
		it.p[i] = it.z[i] + float64(beta*it.p[i])
	}
	result.Iterations++
	result.Residual = it.last / it.norm
	return nil
}

// Serial is a Space of one process with the whole matrix.
type Serial struct{ A *Rows }

// Dot implements Space.
func (s Serial) Dot(a, b []float64) (float64, error) { return Dot(a, b), nil }

// Multiply implements Space.
func (s Serial) Multiply(y, x []float64) error {
	s.A.Multiply(y, x)
	return nil
}

// Dot returns the dot product of this process's elements.
func Dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}

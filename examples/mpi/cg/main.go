// Command cg solves a linear system with a sparse matrix, whose rows are divided among the
// processes, by conjugate gradients:
//
//	go build -o bin/ ./cmd/mpiexec ./examples/mpi/...
//	bin/mpiexec -n 4 bin/cg -generate 60x60x40 rock.mtx
//
// The matrix is in a Matrix Market file, which -generate makes: diffusion through layers of rock on
// a grid of that many cells. Other symmetric positive definite matrices work as well. Rank 0 reads
// the file and distributes the rows (files.go). Before a process multiplies, it gets the elements
// that it needs from its neighbours in a graph (space.go). At the end rank 0 computes the residual
// once more, with the whole matrix.
//
// The numerics are in examples/mpi/internal/cg.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/cg"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
	"github.com/viaduct-hpc/viaduct/mpi"
	_ "github.com/viaduct-hpc/viaduct/plugins" // what BMI_PLUGINS names
	_ "github.com/viaduct-hpc/viaduct/watch"   // VIADUCT_METRICS
)

// options are the command line's options.
type options struct {
	grid       *cg.Grid // to generate; nil if the file exists
	file       string
	tolerance  float64
	iterations int
}

func main() {
	log.SetFlags(0)
	o, err := parse()
	if err != nil {
		log.Fatal(err)
	}
	err = mpi.Run(context.Background(), mpi.Options{}, func(ctx context.Context, p *mpi.Process) error { return run(ctx, p.World(), o) })
	if err != nil {
		log.Fatal(err)
	}
}

// parse parses the command line.
func parse() (*options, error) {
	o := new(options)
	var grid cg.Grid
	size := flag.String("generate", "", "make the matrix of a grid of this size, for example 60x60 or 60x60x40")
	flag.Float64Var(&grid.Contrast, "contrast", 3, "decades between the rock that conducts least and most; the more, the harder to solve")
	flag.Uint64Var(&grid.Seed, "seed", 1, "seed of the random rock")
	flag.Float64Var(&o.tolerance, "tolerance", 1e-10, "residual to reach, by the norm of the right-hand side")
	flag.IntVar(&o.iterations, "iterations", 10_000, "most iterations to try")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: cg [options] MATRIX.mtx")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		return nil, fmt.Errorf("cg: give one file of a matrix, not %q", flag.Args())
	}
	o.file = flag.Arg(0)
	if *size == "" {
		return o, nil
	}
	cells := []*int{&grid.NX, &grid.NY, &grid.NZ}
	grid.NZ = 1 // unless there is a third number
	words := strings.Split(*size, "x")
	if len(words) != 2 && len(words) != len(cells) {
		return nil, errGridSize(*size)
	}
	for i, word := range words {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, errGridSize(*size)
		}
		*cells[i] = n
	}
	o.grid = &grid
	return o, grid.Check()
}

func errGridSize(text string) error {
	return fmt.Errorf("cg: %q is not the size of a grid: give it as 60x60 or 60x60x40", text)
}

// run is the whole job. The right-hand side is 1 everywhere: a source in each cell.
func run(ctx context.Context, w *mpi.Comm, o *options) error {
	if o.grid != nil {
		if err := generate(ctx, w, o.grid, o.file); err != nil {
			return err
		}
	}
	whole, rows, bounds, err := load(ctx, w, o.file)
	if err != nil {
		return err
	}
	s, err := newSpace(ctx, w, rows, bounds)
	if err != nil {
		return err
	}
	begin := time.Now()
	b, x := ones(rows.Len()), make([]float64, rows.Len())
	result, err := cg.Solve(s, rows.Diagonal(), b, x, o.tolerance, o.iterations)
	if err != nil {
		return err
	}
	took := time.Since(begin).Seconds()

	solution, err := collect(ctx, w, x, bounds)
	if err != nil || w.Rank() != 0 {
		return err
	}
	direct := residual(whole, solution)
	fmt.Printf("cg: %d rows, %d entries on %d processes: residual %.2e after %d iterations in %.3f s; computed directly: %.2e\n",
		whole.Cols, whole.Entries(), w.Size(), result.Residual, result.Iterations, took, direct)
	return check(result, direct, o)
}

// collect gathers the solution on rank 0.
func collect(ctx context.Context, w *mpi.Comm, x []float64, bounds []int) ([]float64, error) {
	counts := make([]int, w.Size())
	for rank := range counts {
		counts[rank] = bounds[rank+1] - bounds[rank]
	}
	solution := make([]float64, bounds[w.Size()])
	return solution, w.Gatherv(ctx, mpi.Slice(x), mpi.Slice(solution).Parts(counts, nil), 0)
}

// residual returns ‖b - Ax‖ / ‖b‖, where b is 1 everywhere.
func residual(a *cg.Rows, x []float64) float64 {
	r := make([]float64, a.Len())
	a.Multiply(r, x)
	for i := range r {
		r[i] = 1 - r[i]
	}
	return math.Sqrt(cg.Dot(r, r) / float64(len(r)))
}

// surplus is how much larger the true residual may be than the iteration's value, which accumulates
// rounding errors.
const surplus = 10

// check returns an error unless the system is solved.
func check(result cg.Result, direct float64, o *options) error {
	if !result.Converged {
		return fmt.Errorf("cg: not solved after %d iterations: allow more, or a larger tolerance than %g", result.Iterations, o.tolerance)
	}
	if !(direct <= surplus*o.tolerance) {
		return fmt.Errorf("cg: the residual is %.2e, far from %.2e: rounding errors stand in the way of a tolerance of %g", direct, result.Residual, o.tolerance)
	}
	return nil
}

func ones(n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = 1
	}
	return xs
}

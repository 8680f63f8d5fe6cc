// Command heat computes how a plate warms up, on several processes, and draws it:
//
//	go build -o bin/ ./cmd/mpiexec ./examples/mpi/...
//	bin/mpiexec -n 4 bin/heat -out heat.png
//	bin/mpiexec -n 4 bin/heat -check
//	bin/mpiexec -n 4 --keep-going bin/heat -checkpoint run7 -every 50
//
// With -checkpoint, the plate is saved every so many steps (checkpoint.go). If processes die, the others
// go on from there, and so does a job that is started again, with any number of processes.
//
// The processes form a grid (MPI-4.1, chapter 8), and each has a block of the plate. A step needs
// the cells next to the block, which the four neighbours have: exchange.go. The numerics are in
// examples/mpi/internal/heat.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/heat"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint"
	_ "github.com/viaduct-hpc/viaduct/plugins" // what BMI_PLUGINS names
	_ "github.com/viaduct-hpc/viaduct/watch"   // VIADUCT_METRICS
)

func main() {
	log.SetFlags(0)
	var problem heat.Problem
	flag.IntVar(&problem.Rows, "rows", 600, "rows of cells")
	flag.IntVar(&problem.Cols, "cols", 800, "columns of cells")
	flag.IntVar(&problem.Steps, "steps", 1000, "steps in time")
	flag.Float64Var(&problem.Rate, "rate", heat.RateMax, "how much of a difference to a neighbour a cell takes on in a step")
	var o options
	flag.StringVar(&o.out, "out", "", "draw the plate to this PNG file")
	flag.BoolVar(&o.check, "check", false, "compare with what one process computes, bit for bit")
	flag.StringVar(&o.dir, "checkpoint", "", "save the plate in this directory, and go on with what is there")
	flag.IntVar(&o.every, "every", 100, "how many steps there are between two checkpoints")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("heat: what is %q? There are only options: see heat -h", flag.Arg(0))
	}
	if err := problem.Check(); err != nil {
		log.Fatal(err)
	}
	if o.every < 1 {
		log.Fatalf("heat: -every %d: give 1 or more steps", o.every)
	}
	problem.Initial = heat.HotSpots(problem.Rows, problem.Cols)
	err := mpi.Run(context.Background(), mpi.Options{}, func(ctx context.Context, p *mpi.Process) error {
		once := func(ctx context.Context, c *mpi.Comm) error { return run(ctx, c, &problem, o) }
		if o.dir == "" {
			return once(ctx, p.World())
		}
		return checkpoint.Survive(ctx, p.World(), once)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// options are what the command line says besides the problem.
type options struct {
	out   string
	check bool
	dir   string // of checkpoints, or ""
	every int
}

// run solves the problem on the processes of a communicator.
func run(ctx context.Context, c *mpi.Comm, problem *heat.Problem, o options) error {
	g, err := newGrid(ctx, c, problem)
	if err != nil {
		return err
	}
	return g.free(g.run(ctx, o))
}

// run solves the problem; rank 0 collects the plate if it is drawn or checked.
func (g *grid) run(ctx context.Context, o options) error {
	block, err := g.block()
	if err != nil {
		return err
	}
	var s *saver
	first := 0
	if o.dir != "" {
		if s, err = g.newSaver(ctx, o.dir, o.every); err != nil {
			return err
		}
		defer func() { _ = s.store.Close(ctx) }() // what is saved stays saved
		if first, err = s.restore(ctx, block); err != nil {
			return err
		}
	}
	begin := time.Now()
	if block, err = g.solve(ctx, block, first, s); err != nil {
		return err
	}
	if err := g.comm.Barrier(ctx); err != nil {
		return err
	}
	took := time.Since(begin).Seconds()
	if g.comm.Rank() == 0 {
		fmt.Printf("heat: %d × %d cells, %d steps on %d × %d processes in %.3f s\n",
			g.problem.Rows, g.problem.Cols, g.problem.Steps-first, g.dims[0], g.dims[1], took)
	}
	if o.out == "" && !o.check {
		return nil
	}
	plate, err := g.collect(ctx, block)
	if err != nil || plate == nil {
		return err
	}
	return o.show(plate, g.problem)
}

// show compares and draws the plate.
func (o *options) show(plate *heat.Block, problem *heat.Problem) error {
	if o.check {
		if err := compare(plate, problem.Serial()); err != nil {
			return err
		}
		fmt.Println("heat: the same as the serial solution, bit for bit")
	}
	if o.out == "" {
		return nil
	}
	return draw(o.out, plate)
}

// compare returns an error if a cell differs from the serial solution.
func compare(plate, serial *heat.Block) error {
	got, want := plate.Values(nil), serial.Values(nil)
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	if slices.EqualFunc(got, want, same) {
		return nil
	}
	for i := range want {
		if !same(got[i], want[i]) {
			return fmt.Errorf("heat: the cell in row %d, column %d is %v, and %v in the serial solution", i/plate.Cols, i%plate.Cols, got[i], want[i])
		}
	}
	return fmt.Errorf("heat: there are %d cells, and %d in the serial solution", len(got), len(want))
}

// draw writes the picture.
func draw(name string, plate *heat.Block) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := heat.WritePNG(f, plate, 0, 1); err != nil {
		_ = f.Close() // the first error matters
		return err
	}
	return f.Close()
}

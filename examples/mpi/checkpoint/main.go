// Command checkpoint computes on numbers that are distributed over the processes of a job, and saves
// them now and then:
//
//	go build -o bin/ ./cmd/mpiexec ./examples/mpi/...
//	bin/mpiexec -n 4 --keep-going bin/checkpoint -steps 1000 -store numbers
//
// If processes die, the others go on from the last checkpoint. Started again, it goes on, too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"

	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint"
	_ "github.com/viaduct-hpc/viaduct/watch" // VIADUCT_METRICS
)

var (
	steps = flag.Int64("steps", 1000, "steps to compute")
	dir   = flag.String("store", "numbers", "the directory of checkpoints: a path, or pvfs:tcp://HOST:PORT/FILESYSTEM/PATH")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	err := mpi.Run(context.Background(), mpi.Options{}, func(ctx context.Context, p *mpi.Process) error {
		return checkpoint.Survive(ctx, p.World(), compute)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// total is how many numbers there are, and every how many steps there are between checkpoints.
const (
	total = 100_000
	every = 50
)

// compute takes all steps, on the processes that there are. If one dies, it returns an error of class
// ErrProcFailed or ErrRevoked on all others, and Survive calls it again with these.
func compute(ctx context.Context, c *mpi.Comm) error {
	first, end := total*c.Rank()/c.Size(), total*(c.Rank()+1)/c.Size()
	mine := make([]float64, end-first) // numbers first to end-1
	items := []checkpoint.Item{
		checkpoint.Block("numbers", mpi.Slice(mine), []int{total}, []int{first}, []int{len(mine)}),
	}
	s, err := checkpoint.Open(ctx, c, *dir, checkpoint.Options{Keep: 2})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(ctx) }()
	from, err := s.Restore(ctx, items...)
	if err != nil && !errors.Is(err, checkpoint.ErrNone) {
		return err
	}
	for step := from.Step + 1; step <= *steps; step++ {
		for i := range mine {
			mine[i] = math.Sqrt(mine[i] + float64(first+i))
		}
		if step%every == 0 {
			if err := s.Save(ctx, step, items...); err != nil {
				return err
			}
		}
	}
	sum := 0.0
	for _, x := range mine {
		sum += x
	}
	if err := c.Allreduce(ctx, mpi.InPlace, mpi.Value(&sum), mpi.Sum); err != nil {
		return err
	}
	if c.Rank() == 0 {
		fmt.Printf("from step %d to %d on %d processes: %.3f\n", from.Step, *steps, c.Size(), sum)
	}
	return nil
}

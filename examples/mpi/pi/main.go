// Command pi computes π as the area below 4/(1+x²) between 0 and 1. Every process adds up some
// strips:
//
//	go build -o bin/ ./cmd/mpiexec ./examples/mpi/...
//	bin/mpiexec -n 4 bin/pi -strips 100000000
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"time"

	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
	"github.com/viaduct-hpc/viaduct/mpi"
	_ "github.com/viaduct-hpc/viaduct/plugins" // what BMI_PLUGINS names
	_ "github.com/viaduct-hpc/viaduct/watch"   // VIADUCT_METRICS
)

func main() {
	log.SetFlags(0)
	strips := flag.Int("strips", 10_000_000, "number of strips")
	flag.Parse()
	if *strips < 1 || flag.NArg() > 0 {
		log.Fatalf("pi: %d strips and arguments %q: give at least one strip, and no arguments", *strips, flag.Args())
	}
	err := mpi.Run(context.Background(), mpi.Options{}, func(ctx context.Context, p *mpi.Process) error {
		return pi(ctx, p.World(), *strips)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// pi adds up the areas of all processes on rank 0, and prints the sum.
func pi(ctx context.Context, w *mpi.Comm, strips int) error {
	begin := time.Now()
	mine, sum := area(strips, w.Rank(), w.Size()), 0.0
	if err := w.Reduce(ctx, mpi.Value(&mine), mpi.Value(&sum), mpi.Sum, 0); err != nil {
		return err
	}
	if w.Rank() == 0 {
		fmt.Printf("pi: %.15f, which is off by %.1e (%d strips, %d processes, %.3f s)\n",
			sum, math.Abs(sum-math.Pi), strips, w.Size(), time.Since(begin).Seconds())
	}
	return nil
}

// area returns the area of every step-th strip from the first on. The height of a strip is that in
// its middle.
func area(strips, first, step int) float64 {
	width, sum := 1/float64(strips), 0.0
	for i := first; i < strips; i += step {
		x := (float64(i) + 0.5) * width
		sum += 4 / (1 + x*x)
	}
	return sum * width
}

// Command matrix writes a matrix that is distributed over the processes in blocks to one file, row
// by row, and reads it back by rows:
//
//	go build -o bin/ ./cmd/mpiexec ./examples/mpi/...
//	bin/mpiexec -n 4 bin/matrix -file /tmp/matrix
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/file"
	"github.com/viaduct-hpc/viaduct/mpi/topo"
	_ "github.com/viaduct-hpc/viaduct/plugins" // what BMI_PLUGINS names
	_ "github.com/viaduct-hpc/viaduct/watch"   // VIADUCT_METRICS
)

func main() {
	log.SetFlags(0)
	name := flag.String("file", "matrix.out", "the file to write: a path, or pvfs:tcp://HOST:PORT/FILESYSTEM/PATH")
	side := flag.Int("side", 512, "rows and columns of each block")
	flag.Parse()
	if *side < 1 || flag.NArg() > 0 {
		log.Fatalf("matrix: blocks of %d rows and arguments %q: give at least one row, and no arguments", *side, flag.Args())
	}
	err := mpi.Run(context.Background(), mpi.Options{}, func(ctx context.Context, p *mpi.Process) error {
		return matrix(ctx, p.World(), *name, *side)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// matrix writes and reads a matrix of one block for each process. Its elements are their own numbers,
// row by row.
func matrix(ctx context.Context, w *mpi.Comm, name string, side int) error {
	// The processes are a grid, as square as possible.
	grid, err := topo.DimsCreate(w.Size(), []int{0, 0})
	if err != nil {
		return err
	}
	row, col := w.Rank()/grid[1]*side, w.Rank()%grid[1]*side
	sizes := []int{grid[0] * side, grid[1] * side}
	mine := make([]float64, side*side)
	for i := range mine {
		mine[i] = float64((row+i/side)*sizes[1] + col + i%side)
	}
	f, err := file.Open(ctx, w, name, file.ModeCreate|file.ModeRdwr, nil)
	if err != nil {
		return err
	}
	if err := blocks(ctx, f, sizes, []int{side, side}, []int{row, col}, mine); err != nil {
		return err
	}
	wrong, err := rows(ctx, f, w, len(mine))
	if err != nil {
		return err
	}
	if err := f.Close(ctx); err != nil {
		return err
	}
	if w.Rank() == 0 {
		fmt.Printf("matrix: %d × %d numbers in %s, %d of them wrong\n", sizes[0], sizes[1], name, wrong)
	}
	return nil
}

// blocks writes this process's block of the matrix.
func blocks(ctx context.Context, f *file.File, sizes, block, start []int, mine []float64) error {
	view, err := datatype.Subarray(sizes, block, start, datatype.OrderC, datatype.Float64)
	if err != nil {
		return err
	}
	if err := f.SetView(ctx, 0, datatype.Float64, view, file.Native, nil); err != nil {
		return err
	}
	_, err = f.WriteAll(ctx, mpi.Slice(mine))
	return err
}

// rows reads as many consecutive numbers in each process, and counts the wrong ones of all.
func rows(ctx context.Context, f *file.File, w *mpi.Comm, n int) (int, error) {
	if err := f.SetView(ctx, 0, datatype.Float64, datatype.Float64, file.Native, nil); err != nil {
		return 0, err
	}
	got := make([]float64, n)
	first := w.Rank() * n
	st, err := f.ReadAtAll(ctx, int64(first), mpi.Slice(got))
	if err != nil {
		return 0, err
	}
	wrong := n - mpi.GetCount[float64](st)
	for i, x := range got {
		if x != float64(first+i) {
			wrong++
		}
	}
	err = w.Allreduce(ctx, mpi.InPlace, mpi.Value(&wrong), mpi.Sum)
	return wrong, err
}

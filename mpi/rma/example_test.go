package rma_test

import (
	"context"
	"fmt"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// Rank 0 has a counter. Each process takes numbers from it until none are left, while rank 0
// does other things. So a process that is faster does more of the work.
func Example() {
	const tasks = 100
	err := mpi.Run(context.Background(), mpi.Options{Method: "mem"}, func(ctx context.Context, p *mpi.Process) error {
		w, err := rma.Allocate(ctx, p.World(), 8, 8, nil)
		if err != nil {
			return err
		}
		if err := w.LockAll(ctx); err != nil {
			return err
		}
		done, one, task := 0, 1, 0
		for {
			w.FetchAndOp(mpi.Value(&one), mpi.Value(&task), rma.At(0, 0), mpi.Sum)
			if err := w.Flush(ctx, 0); err != nil {
				return err
			}
			if task >= tasks {
				break
			}
			done++ // and do task
		}
		if err := w.UnlockAll(ctx); err != nil {
			return err
		}
		fmt.Println("tasks done here:", done)
		return w.Free(ctx)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: tasks done here: 100
}

// Command bare is an MPI program without methods of its own. It uses those of the plugins that its
// environment names.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/viaduct-hpc/viaduct/mpi"
	_ "github.com/viaduct-hpc/viaduct/plugins" // what BMI_PLUGINS names
)

func main() {
	log.SetFlags(0)
	err := mpi.Run(context.Background(), mpi.Options{}, func(ctx context.Context, p *mpi.Process) error {
		w, sum := p.World(), p.World().Rank()
		if err := w.Allreduce(ctx, mpi.InPlace, mpi.Value(&sum), mpi.Sum); err != nil {
			return err
		}
		fmt.Printf("rank %d of %d by %s: sum %d\n", w.Rank(), w.Size(), p.Endpoint().Addresses()[0], sum)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}

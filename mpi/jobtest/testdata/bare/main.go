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
	err := mpi.Run(context.Background(), mpi.Options{}, func(p *mpi.Process) error {
		w, sum := p.World(), []int{0}
		if err := mpi.Allreduce(w, []int{w.Rank()}, sum, mpi.Sum); err != nil {
			return err
		}
		fmt.Printf("rank %d of %d by %s: sum %d\n", w.Rank(), w.Size(), p.Endpoint().Addresses()[0], sum[0])
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}

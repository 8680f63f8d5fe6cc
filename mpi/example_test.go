package mpi_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// Two processes send each other numbers. Here they are goroutines of one program, as in a
// test; a program that mpiexec starts passes no Boot, and has one Process.
func Example() {
	program := func(b boot.Boot) error {
		ctx := context.Background()
		p, err := mpi.Init(ctx, mpi.Options{Boot: b})
		if err != nil {
			return err
		}
		w := p.World()
		switch w.Rank() {
		case 0:
			err = w.Send(ctx, mpi.Slice([]float64{1, 2, 3}), 1, 7)
		case 1:
			xs := make([]float64, 10)
			var st mpi.Status
			st, err = w.Recv(ctx, mpi.Slice(xs), mpi.AnySource, mpi.AnyTag)
			fmt.Println("from rank", st.Source, "with tag", st.Tag, xs[:mpi.GetCount[float64](st)])
		}
		if err != nil {
			return err
		}
		return p.Finalize(ctx)
	}
	boots, err := boot.Local(2)
	if err != nil {
		log.Fatal(err)
	}
	var ranks sync.WaitGroup
	for _, b := range boots {
		ranks.Go(func() {
			if err := program(b); err != nil {
				log.Println(err)
			}
		})
	}
	ranks.Wait()
	// Output: from rank 0 with tag 7 [1 2 3]
}

// A ring of halos: receives and sends are posted, something else is done, and then all are
// waited for.
func ExampleWaitAll() {
	ctx := context.Background()
	p, err := mpi.Init(ctx, mpi.Options{}) // alone, its neighbours are itself
	if err != nil {
		log.Fatal(err)
	}
	w := p.World()
	left, right := (w.Rank()+w.Size()-1)%w.Size(), (w.Rank()+1)%w.Size()
	row := []float32{0, 1, 2, 3, 0} // the first and last are copies of the neighbours' own
	n := len(row)
	fromLeft := w.Irecv(mpi.Value(&row[0]), left, 1)
	fromRight := w.Irecv(mpi.Value(&row[n-1]), right, 2)
	toRight := w.Isend(mpi.Value(&row[n-2]), right, 1)
	toLeft := w.Isend(mpi.Value(&row[1]), left, 2)
	check(mpi.WaitAll(ctx, fromLeft, fromRight, toRight, toLeft))
	fmt.Println(row)
	check(p.Finalize(ctx))
	// Output: [3 1 2 3 1]
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

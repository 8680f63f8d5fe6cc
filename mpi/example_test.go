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
			err = mpi.Send(w, []float64{1, 2, 3}, 1, 7)
		case 1:
			xs := make([]float64, 10)
			var st mpi.Status
			st, err = mpi.Recv(w, xs, mpi.AnySource, mpi.AnyTag)
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
	p, err := mpi.Init(context.Background(), mpi.Options{}) // alone, its neighbours are itself
	if err != nil {
		log.Fatal(err)
	}
	w := p.World()
	left, right := (w.Rank()+w.Size()-1)%w.Size(), (w.Rank()+1)%w.Size()
	row := []float32{0, 1, 2, 3, 0} // the first and last are copies of the neighbours' own
	n := len(row)
	fromLeft, err := mpi.Irecv(w, row[:1], left, 1)
	check(err)
	fromRight, err := mpi.Irecv(w, row[n-1:], right, 2)
	check(err)
	toRight, err := mpi.Isend(w, row[n-2:n-1], right, 1)
	check(err)
	toLeft, err := mpi.Isend(w, row[1:2], left, 2)
	check(err)
	check(mpi.WaitAll(fromLeft, fromRight, toRight, toLeft))
	fmt.Println(row)
	check(p.Finalize(context.Background()))
	// Output: [3 1 2 3 1]
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

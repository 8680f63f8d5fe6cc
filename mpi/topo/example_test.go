package topo_test

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/mpi/topo"
)

// Twelve processes in a grid that is closed to a ring in its second dimension.
func ExampleCart() {
	dims, err := topo.DimsCreate(12, []int{0, 0})
	if err != nil {
		fmt.Println(err)
		return
	}
	grid, err := topo.NewCart(12, dims, []bool{false, true})
	if err != nil {
		fmt.Println(err)
		return
	}
	at, _ := grid.Coords(2)
	from, to, _ := grid.Shift(2, 1, 1)
	fmt.Println(dims, at, from, to)
	neighbours, _ := grid.Neighborhood(2)
	fmt.Println(neighbours.Destinations)
	// Output:
	// [4 3] [0 2] 1 0
	// [-2 5 1 0]
}

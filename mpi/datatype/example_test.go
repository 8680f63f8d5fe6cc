package datatype_test

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// A column of a matrix of 3 rows and 4 columns, packed from the memory of the matrix.
func ExampleVector() {
	matrix := []byte{
		11, 12, 13, 14,
		21, 22, 23, 24,
		31, 32, 33, 34,
	}
	column, err := datatype.Vector(3, 1, 4, datatype.Uint8)
	if err != nil {
		fmt.Println(err)
		return
	}
	packed := make([]byte, column.Size())
	// The buffer's address is that of the second column.
	if _, err := column.Pack(packed, matrix, 1, 1); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(packed)
	fmt.Println(column.Fits(len(matrix), 4, 1))
	// Output:
	// [12 22 32]
	// mpi: MPI_ERR_BUFFER: 1 elements of vector of uint8 at 4 touch bytes 4 to 12 of a buffer of 12 bytes: make the buffer larger or the count smaller
}

// A Go struct has a datatype as long as there are no pointers in it; padding does not
// travel.
func ExampleOf() {
	type body struct {
		ID       int32
		Position [3]float64
	}
	t, err := datatype.Of[body]()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, extent := t.Extent()
	fmt.Printf("%v: %d bytes of every %d\n", t, t.Size(), extent)

	_, err = datatype.Of[struct{ Name string }]()
	fmt.Println(err != nil)
	// Output:
	// datatype_test.body: 28 bytes of every 32
	// true
}

package coll_test

import (
	"encoding/binary"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/mpi/colltest"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// Five ranks in memory add their ranks.
func ExampleAllreduce() {
	err := colltest.New(5, 1).Run(func(c coll.Comm) error {
		out := make([]byte, 8)
		binary.NativeEndian.PutUint64(out, uint64(c.Rank()))
		err := coll.Allreduce(c, nil, out, datatype.Int64, 1, reduce.Sum, nil, coll.Auto)
		if c.Rank() == 3 {
			fmt.Println(binary.NativeEndian.Uint64(out))
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// 10
	// <nil>
}

package group_test

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/mpi/group"
)

// A group of every second process, and the rank of one of them in the other group.
func ExampleGroup() {
	all, err := group.New([]string{"a", "b", "c", "d", "e"})
	if err != nil {
		fmt.Println(err)
		return
	}
	even, err := all.RangeIncl([]group.Range{{First: 4, Last: 0, Stride: -2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ranks, err := even.TranslateRanks([]int{0, 1, 2}, all)
	fmt.Println(even.Members(), ranks, err)
	odd, err := group.Difference(all, even)
	fmt.Println(odd.Members(), odd.Rank("a") == group.Undefined, err)
	// Output:
	// [e c a] [4 2 0] <nil>
	// [b d] true <nil>
}

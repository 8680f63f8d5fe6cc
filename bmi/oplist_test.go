package bmi_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// TestOpList compares two lists with slices, while operations enter them, go from one to the other, and leave.
func TestOpList(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	var lists [2]bmi.OpList
	var model [2][]*bmi.Op
	ops := make([]*bmi.Op, 20)
	for i := range ops {
		ops[i] = bmi.NewHostOp(func(*bmi.Op, int, error) {})
	}
	for range 10_000 {
		op := ops[rng.IntN(len(ops))]
		for i := range model {
			model[i] = slices.DeleteFunc(model[i], func(o *bmi.Op) bool { return o == op })
		}
		switch k := rng.IntN(4); k {
		case 0, 1:
			lists[k].Add(op)
			model[k] = append(model[k], op)
		case 2:
			op.Leave()
		case 3:
			op.Complete(0, nil)
		}
		for i := range lists {
			require.Equal(t, len(model[i]), lists[i].Len())
			if len(model[i]) == 0 {
				require.Nil(t, lists[i].First())
			} else {
				require.Same(t, model[i][0], lists[i].First())
			}
		}
	}
	for i := range lists { // the whole order
		for _, op := range model[i] {
			require.Same(t, op, lists[i].First())
			op.Complete(0, nil)
		}
		require.Nil(t, lists[i].First())
	}
}

package reduce

import "github.com/viaduct-hpc/viaduct/mpi/number"

// The loops over numbers that Go lacks.

func sumSoft[T number.Arithmetic[T]](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		inout[i] = in[i].Add(inout[i])
	}
}

func prodSoft[T number.Arithmetic[T]](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		inout[i] = in[i].Mul(inout[i])
	}
}

func largerSoft[T number.Ordered[T]](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		if in[i].IsNaN() || inout[i].Less(in[i]) {
			inout[i] = in[i]
		}
	}
}

func smallerSoft[T number.Ordered[T]](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		if in[i].IsNaN() || in[i].Less(inout[i]) {
			inout[i] = in[i]
		}
	}
}

// logical16 makes a loop over truth values of 16 bytes.
func logical16(op func(a, b bool) bool) loop {
	return each(func(inout, in []number.Int128) {
		in = in[:len(inout)]
		for i := range inout {
			truth := number.Int128{}
			if op(in[i] != number.Int128{}, inout[i] != number.Int128{}) {
				truth = number.Int128FromInt64(1)
			}
			inout[i] = truth
		}
	})
}

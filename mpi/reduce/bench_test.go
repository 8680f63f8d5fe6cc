package reduce_test

import (
	"fmt"
	"testing"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// BenchmarkApply is one element of each type, and a vector that fits the second-level cache.
func BenchmarkApply(b *testing.B) {
	for _, op := range []*reduce.Op{reduce.Sum, reduce.Max, reduce.BAnd} {
		for _, ty := range []*datatype.Type{datatype.Int8, datatype.Int32, datatype.Float32, datatype.Float64, datatype.LongDouble, datatype.Float128} {
			if op.ValidFor(ty) != nil {
				continue
			}
			for _, bytes := range []int{ty.Size(), 64 << 10} {
				b.Run(fmt.Sprintf("op=%v/type=%v/bytes=%d", op, ty, bytes), func(b *testing.B) {
					in, inout := make([]byte, bytes), make([]byte, bytes)
					b.SetBytes(int64(bytes))
					for b.Loop() {
						op.Apply(inout, in, ty, bytes/ty.Size())
					}
				})
			}
		}
	}
}

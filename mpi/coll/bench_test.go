package coll_test

import (
	"testing"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// BenchmarkTwoRanks measures the cost of coll itself, with messages that cost nothing.
func BenchmarkTwoRanks(b *testing.B) {
	p, s := new(partner), new(coll.Scratch)
	in, out, two := make([]byte, 8), make([]byte, 8), make([]byte, 16)
	for name, f := range map[string]func() error{
		"barrier":   func() error { return coll.Barrier(p, coll.Auto) },
		"bcast":     func() error { return coll.Bcast(p, in, 0, s, coll.Auto) },
		"allreduce": func() error { return coll.Allreduce(p, in, out, datatype.Float64, 1, reduce.Sum, s, coll.Auto) },
		"allgather": func() error { return coll.Allgather(p, in, two, s, coll.Auto) },
	} {
		b.Run("op="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

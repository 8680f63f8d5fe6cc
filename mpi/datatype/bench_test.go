package datatype_test

import (
	"testing"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// bytesOf is the memory of xs.
func bytesOf[T any](xs []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(xs))), len(xs)*int(unsafe.Sizeof(*new(T))))
}

// benchRows is how many elements or rows the benchmarks pack at a time.
const benchRows = 4096

func benchPack(b *testing.B, t *datatype.Type, err error, mem []byte, count int) {
	if err != nil {
		b.Fatal(err)
	}
	n, _ := t.PackSize(count)
	dst := make([]byte, n)
	b.Run("pack", func(b *testing.B) {
		b.SetBytes(int64(n))
		b.ReportAllocs()
		for b.Loop() {
			_, _ = t.Pack(dst, mem, 0, count)
		}
	})
	b.Run("unpack", func(b *testing.B) {
		b.SetBytes(int64(n))
		b.ReportAllocs()
		for b.Loop() {
			_, _ = t.Unpack(mem, 0, count, dst)
		}
	})
	b.Run("external", func(b *testing.B) {
		b.SetBytes(int64(n))
		b.ReportAllocs()
		for b.Loop() {
			_, _ = t.PackExternal(dst, mem, 0, count)
		}
	})
	b.Run("pieces", func(b *testing.B) {
		b.SetBytes(int64(n))
		b.ReportAllocs()
		for b.Loop() {
			c, _ := datatype.NewCursor(t, mem, 0, count)
			for c.Left() > 0 {
				c.Pack(dst[:min(len(dst), 8192)])
			}
		}
	})
}

// BenchmarkColumn packs a column of a matrix of 16 columns.
func BenchmarkColumn(b *testing.B) {
	const columns = 16
	a := make([]float64, benchRows*columns)
	t, err := datatype.Vector(benchRows, 1, columns, datatype.Float64)
	benchPack(b, t, err, bytesOf(a), 1)
	out := make([]float64, benchRows)
	b.Run("by-hand", func(b *testing.B) {
		b.SetBytes(benchRows * 8)
		for b.Loop() {
			for i := range out {
				out[i] = a[i*columns]
			}
		}
	})
}

// BenchmarkBlocks packs blocks of three numbers of every eight.
func BenchmarkBlocks(b *testing.B) {
	a := make([]float64, benchRows*8)
	t, err := datatype.Vector(benchRows, 3, 8, datatype.Float64)
	benchPack(b, t, err, bytesOf(a), 1)
	out := make([]float64, benchRows*3)
	b.Run("by-hand", func(b *testing.B) {
		b.SetBytes(benchRows * 24)
		for b.Loop() {
			for i := range benchRows {
				copy(out[i*3:i*3+3], a[i*8:])
			}
		}
	})
}

// particle has gaps.
type particle struct {
	ID       int32
	Position [3]float64
	Charge   int8
	Momentum float32
}

// BenchmarkStruct packs structs with padding.
func BenchmarkStruct(b *testing.B) {
	a := make([]particle, benchRows)
	t, err := datatype.Of[particle]()
	benchPack(b, t, err, bytesOf(a), benchRows)
	type packed struct {
		position [3]float64
		id       int32
		momentum float32
		charge   int8
	}
	out := make([]packed, benchRows)
	b.Run("by-hand", func(b *testing.B) {
		b.SetBytes(benchRows * 33)
		for b.Loop() {
			for i := range a {
				out[i] = packed{a[i].Position, a[i].ID, a[i].Momentum, a[i].Charge}
			}
		}
	})
}

// BenchmarkIndexed packs numbers from irregular places.
func BenchmarkIndexed(b *testing.B) {
	a := make([]float64, benchRows*8)
	r := generator(1)
	places := make([]int, benchRows)
	for i := range places {
		places[i] = i*8 + r.IntN(8)
	}
	t, err := datatype.IndexedBlock(1, places, datatype.Float64)
	benchPack(b, t, err, bytesOf(a), 1)
	out := make([]float64, benchRows)
	b.Run("by-hand", func(b *testing.B) {
		b.SetBytes(benchRows * 8)
		for b.Loop() {
			for i, at := range places {
				out[i] = a[at]
			}
		}
	})
}

// BenchmarkContiguous packs 8 bytes: what a small message costs.
func BenchmarkContiguous(b *testing.B) {
	a := make([]float64, 1)
	benchPack(b, datatype.Float64, nil, bytesOf(a), 1)
}

type celsius float64

func benchOf[T any](b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		t, err := datatype.Of[T]()
		if err != nil || t == nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOf is what a generic call pays to know its datatype.
func BenchmarkOf(b *testing.B) {
	b.Run("float64", benchOf[float64])
	b.Run("named", benchOf[celsius])
	b.Run("struct", benchOf[particle])
}

package mpiperf

import (
	"fmt"
	"unsafe"
)

// floatBytes is the size of an element of a reduction, a float64.
const floatBytes = 8

// A block is the data of one rank for another one, or for all, in which case to is 0.
type block struct{ from, to int }

// pattern is byte i of a block in a round. It differs between neighbouring rounds, ranks
// and positions.
func (b block) pattern(round, i int) byte {
	x := uint32(round+1)*2654435761 + uint32(b.from+1)*40503 + uint32(b.to+1)*65599 + uint32(i)*2246822519
	x ^= x >> 15
	x *= 2654435761
	return byte(x >> 24)
}

func (b block) fill(mem []byte, round int) {
	for i := range mem {
		mem[i] = b.pattern(round, i)
	}
}

func (b block) check(mem []byte, round int) error {
	for i, got := range mem {
		if want := b.pattern(round, i); got != want {
			return fmt.Errorf("byte %d of %d from rank %d for rank %d is %#02x and should be %#02x", i, len(mem), b.from, b.to, got, want)
		}
	}
	return nil
}

// spoil fills memory so that nothing in it is right by accident.
func spoil(mem []byte, b block, round int) {
	for i := range mem {
		mem[i] = ^b.pattern(round, i)
	}
}

// number is element i of a rank's contribution to a reduction: a small integer, so that
// sums are exact in any order.
func number(round, rank, i int) float64 {
	return float64((round+1)*(rank+1) + i%1021)
}

// sum is the sum of the numbers of the first ranks.
func sum(round, ranks, i int) float64 {
	var s float64
	for rank := range ranks {
		s += number(round, rank, i)
	}
	return s
}

// int64s and float64s return memory as numbers.
func int64s(mem []byte) []int64     { return numbersOf[int64](mem) }
func float64s(mem []byte) []float64 { return numbersOf[float64](mem) }

func numbersOf[N int64 | float64](mem []byte) []N {
	return unsafe.Slice((*N)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/floatBytes)
}

package mpiperf

import "fmt"

// floatBytes is the size of what reductions combine, a float64.
const floatBytes = 8

// A block is what one rank has for another one, or for all, which is rank 0 then.
type block struct{ from, to int }

// pattern is byte i of a block in a round. Rounds, ranks and positions close by have
// different ones.
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

// spoil makes sure that nothing in memory is right by accident.
func spoil(mem []byte, b block, round int) {
	for i := range mem {
		mem[i] = ^b.pattern(round, i)
	}
}

// number is element i of what a rank gives to a reduction: a small whole number, so that
// sums of them are exact in any order.
func number(round, rank, i int) float64 {
	return float64((round+1)*(rank+1) + i%1021)
}

// sum is what the numbers of the first ranks add up to.
func sum(round, ranks, i int) float64 {
	var s float64
	for rank := range ranks {
		s += number(round, rank, i)
	}
	return s
}

package reduce

import (
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi/number"
)

// pairs combines packed pairs of a value and an index. Packed pairs have no
// padding, so most of them are not aligned and are copied out first.
func pairs[V, I ordered](largest bool) loop {
	return pairsBy[V, I](func(a, b V) bool { return beats(a, b, largest) })
}

// pairsBy takes a function that reports whether a value comes strictly before another.
func pairsBy[V any, I ordered](beats func(a, b V) bool) loop {
	return func(inout, in []byte, n int) {
		value := int(unsafe.Sizeof(*new(V)))
		size := value + int(unsafe.Sizeof(*new(I)))
		for range n {
			a, b := load[V](in), load[V](inout)
			first := beats(a, b)
			tie := !first && !beats(b, a)
			if first || tie && load[I](in[value:]) < load[I](inout[value:]) {
				copy(inout[:size], in)
			}
			inout, in = inout[size:], in[size:]
		}
	}
}

// beats reports whether the value a comes strictly before b: a is larger, or
// smaller, or a is NaN and b is not.
func beats[V ordered](a, b V, largest bool) bool {
	if a != a || b != b {
		return a != a && b == b
	}
	if largest {
		return a > b
	}
	return a < b
}

// beatsSoft is beats for numbers that Go lacks.
func beatsSoft[V number.Ordered[V]](largest bool) func(a, b V) bool {
	return func(a, b V) bool {
		switch {
		case a.IsNaN() || b.IsNaN():
			return a.IsNaN() && !b.IsNaN()
		case a.Equal(b): // zeros of both signs are
			return false
		}
		return b.Less(a) == largest
	}
}

// load returns the number at the beginning of b.
func load[T any](b []byte) (x T) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&x)), unsafe.Sizeof(x)), b)
	return x
}

package reduce

import "unsafe"

// pairs combines packed pairs of a value and an index. Packed pairs have no
// padding, so most of them are not aligned and are copied out first.
func pairs[V ordered, I int32 | int64](largest bool) loop {
	return func(inout, in []byte, n int) {
		value := int(unsafe.Sizeof(*new(V)))
		size := value + int(unsafe.Sizeof(*new(I)))
		for range n {
			a, b := load[V](in), load[V](inout)
			first := beats(a, b, largest)
			tie := !first && !beats(b, a, largest)
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

// load returns the number at the beginning of b.
func load[T number](b []byte) (x T) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&x)), unsafe.Sizeof(x)), b)
	return x
}

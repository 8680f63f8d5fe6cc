package reduce

import "unsafe"

// The loops over elements in place. inout and in have the same length, which
// the first line tells the compiler.

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type ordered interface {
	integer | float32 | float64
}

type numeric interface {
	ordered | complex64 | complex128
}

func sum[T numeric](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		inout[i] = in[i] + inout[i]
	}
}

func prod[T numeric](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		inout[i] = in[i] * inout[i]
	}
}

func larger[T ordered](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		inout[i] = max(in[i], inout[i])
	}
}

func smaller[T ordered](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		inout[i] = min(in[i], inout[i])
	}
}

func land[T integer](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		inout[i] = one[T](in[i] != 0 && inout[i] != 0)
	}
}

func lor[T integer](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		inout[i] = one[T](in[i] != 0 || inout[i] != 0)
	}
}

func lxor[T integer](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		inout[i] = one[T]((in[i] != 0) != (inout[i] != 0))
	}
}

func one[T integer](b bool) T {
	if b {
		return 1
	}
	return 0
}

func band[T integer](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		inout[i] &= in[i]
	}
}

func bor[T integer](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		inout[i] |= in[i]
	}
}

func bxor[T integer](inout, in []T) {
	in = in[:len(inout)]
	for i := range inout {
		inout[i] ^= in[i]
	}
}

// unalignedElements is how many elements are copied at a time when they are not
// aligned.
const unalignedElements = 256

// each makes a loop over packed elements from a loop over a slice of T. It uses
// packed bytes as elements in place if they are aligned, which they are unless
// other data are packed before them. Otherwise it copies them through aligned
// memory.
func each[T any](f func(inout, in []T)) loop {
	return func(inout, in []byte, n int) {
		if n == 0 {
			return
		}
		size := int(unsafe.Sizeof(*new(T)))
		inout, in = inout[:n*size], in[:n*size]
		if aligned[T](inout) && aligned[T](in) {
			f(elements[T](inout), elements[T](in))
			return
		}
		var a, b [unalignedElements]T
		for len(inout) > 0 {
			k := copy(packed(a[:]), inout)
			copy(packed(b[:]), in[:k])
			f(a[:k/size], b[:k/size])
			copy(inout[:k], packed(a[:]))
			inout, in = inout[k:], in[k:]
		}
	}
}

func aligned[T any](b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(*new(T)) == 0
}

// elements returns aligned bytes as numbers.
func elements[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// packed returns numbers as bytes.
func packed[T any](xs []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(xs))), len(xs)*int(unsafe.Sizeof(*new(T))))
}

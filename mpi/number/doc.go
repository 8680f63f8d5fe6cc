// Package number has the numbers of MPI's datatypes that Go lacks: long double, binary16, binary128,
// integers of 128 bits, and complex numbers of them. Each type has the size and the bytes that C
// gives its counterpart on amd64 and arm64, so a slice of them is an array of C. Only the alignment
// differs: Go aligns those of 16 bytes to 8, and C to 16, so structures that are shared with C need
// padding fields.
//
// Results are rounded to nearest, ties to even. Zeros have signs, and small numbers are subnormal,
// as IEEE 754 says. An operation on a NaN returns a quiet NaN; which one is not specified.
//
// value.go is the arithmetic, in any format; format.go has the formats, float16.go, float128.go and
// longdouble.go the types. convert.go converts to and from Go's numbers, int128.go and complex.go
// have the rest.
//
// Go's math/big has no zeros with signs, no subnormal numbers and no NaN, and allocates; it is what the
// tests compare with.
package number

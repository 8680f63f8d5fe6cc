package number

import (
	"math/big"
	"math/bits"
)

// An Int128 is an integer of 16 bytes, in two's complement: C's __int128, Fortran's integer of 16
// bytes (MPI_INTEGER16). Results that overflow wrap around, as always in Go.
type Int128 struct{ lo, hi uint64 }

// Int128FromBits returns the number of a representation.
func Int128FromBits(hi, lo uint64) Int128 { return Int128{lo, hi} }

// Bits returns the representation.
func (x Int128) Bits() (hi, lo uint64) { return x.hi, x.lo }

// Int128FromInt64 returns a number.
func Int128FromInt64(x int64) Int128 { return Int128{uint64(x), uint64(x >> 63)} }

// Big returns x.
func (x Int128) Big() *big.Int {
	z := big.NewInt(int64(x.hi))
	return z.Lsh(z, 64).Or(z, new(big.Int).SetUint64(x.lo))
}

// Add returns x + y.
func (x Int128) Add(y Int128) Int128 {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	hi, _ := bits.Add64(x.hi, y.hi, carry)
	return Int128{lo, hi}
}

// Mul returns x × y.
func (x Int128) Mul(y Int128) Int128 {
	hi, lo := bits.Mul64(x.lo, y.lo)
	return Int128{lo, hi + x.hi*y.lo + x.lo*y.hi}
}

// Less tells whether x < y.
func (x Int128) Less(y Int128) bool {
	return int64(x.hi) < int64(y.hi) || x.hi == y.hi && x.lo < y.lo
}

// Equal tells whether x == y.
func (x Int128) Equal(y Int128) bool { return x == y }

// IsNaN returns false.
func (Int128) IsNaN() bool { return false }

// String returns x in decimal.
func (x Int128) String() string { return x.Big().String() }

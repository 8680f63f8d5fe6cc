package number

import "math/big"

// A LongDouble is C's long double (MPI_LONG_DOUBLE), of 16 bytes. On amd64 it is the x87's extended
// format: 8 bytes of significand, 2 of sign and exponent, and 6 that do not count, which are 0 in
// results here. On arm64 it is binary128.
type LongDouble struct{ lo, hi uint64 }

// LongDoubleFromBits returns the number of a representation: bytes 0 to 7 as lo, and 8 to 15 as hi.
func LongDoubleFromBits(hi, lo uint64) LongDouble { return LongDouble{lo, hi} }

// Bits returns the representation.
func (x LongDouble) Bits() (hi, lo uint64) { return x.hi, x.lo }

// Add returns x + y.
func (x LongDouble) Add(y LongDouble) LongDouble { return longDouble(add(x.value(), y.value())) }

// Sub returns x - y.
func (x LongDouble) Sub(y LongDouble) LongDouble {
	return longDouble(add(x.value(), y.value().negate()))
}

// Mul returns x × y.
func (x LongDouble) Mul(y LongDouble) LongDouble { return longDouble(mul(x.value(), y.value())) }

// Less tells whether x < y. -0 is less than 0, and a NaN is not less than any number, nor greater.
func (x LongDouble) Less(y LongDouble) bool { return less(x.value(), y.value()) }

// Equal tells whether x == y. Zeros are equal; a NaN is not equal to itself.
func (x LongDouble) Equal(y LongDouble) bool { return equal(x.value(), y.value()) }

// IsNaN tells whether x is not a number.
func (x LongDouble) IsNaN() bool { return x.value().class == nan }

// LongDoubleFromFloat64 returns a number, which is exact.
func LongDoubleFromFloat64(x float64) LongDouble { return longDouble(fromFloat64(x)) }

// Float64 returns x, rounded.
func (x LongDouble) Float64() float64 { return toFloat64(x.value()) }

// LongDoubleFromFloat128 rounds a number.
func LongDoubleFromFloat128(x Float128) LongDouble { return longDouble(x.value()) }

// Float128 returns x, which is exact.
func (x LongDouble) Float128() Float128 { return float128(x.value()) }

// Big returns x, exactly, or nil if it is NaN.
func (x LongDouble) Big() *big.Float { return toBig(x.value(), longDoubleFormat.precision) }

// LongDoubleFromBig rounds a number.
func LongDoubleFromBig(x *big.Float) LongDouble { return longDouble(fromBig(x)) }

// String returns x in decimal, with as many digits as tell it from other numbers.
func (x LongDouble) String() string { return text(x.Big()) }

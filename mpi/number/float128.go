package number

import "math/big"

// A Float128 is a number of 16 bytes in the format binary128: C's __float128, Fortran's real of 16
// bytes (MPI_REAL16).
type Float128 struct{ lo, hi uint64 }

// Float128FromBits returns the number of a representation, with the sign in bit 63 of hi.
func Float128FromBits(hi, lo uint64) Float128 { return Float128{lo, hi} }

// Bits returns the representation.
func (x Float128) Bits() (hi, lo uint64) { return x.hi, x.lo }

// fractionHi is how many bits of the fraction are in hi.
const fractionHi = 48

func (x Float128) value() value {
	field, hi := int(x.hi>>fractionHi&0x7fff), x.hi&(1<<fractionHi-1)
	if field > 0 {
		hi |= 1 << fractionHi
	}
	return binary128.unpack(x.hi>>63 != 0, field, hi, x.lo)
}

func float128(v value) Float128 {
	field, hi, lo := binary128.pack(v)
	hi = uint64(field)<<fractionHi | hi&(1<<fractionHi-1)
	if v.neg {
		hi |= 1 << 63
	}
	return Float128{lo, hi}
}

// Add returns x + y.
func (x Float128) Add(y Float128) Float128 { return float128(add(x.value(), y.value())) }

// Sub returns x - y.
func (x Float128) Sub(y Float128) Float128 { return float128(add(x.value(), y.value().negate())) }

// Mul returns x × y.
func (x Float128) Mul(y Float128) Float128 { return float128(mul(x.value(), y.value())) }

// Less tells whether x < y. -0 is less than 0, and a NaN is not less than any number, nor greater.
func (x Float128) Less(y Float128) bool { return less(x.value(), y.value()) }

// Equal tells whether x == y. Zeros are equal; a NaN is not equal to itself.
func (x Float128) Equal(y Float128) bool { return equal(x.value(), y.value()) }

// IsNaN tells whether x is not a number.
func (x Float128) IsNaN() bool { return x.value().class == nan }

// Float128FromFloat64 returns a number, which is exact.
func Float128FromFloat64(x float64) Float128 { return float128(fromFloat64(x)) }

// Float64 returns x, rounded.
func (x Float128) Float64() float64 { return toFloat64(x.value()) }

// Big returns x, exactly, or nil if it is NaN.
func (x Float128) Big() *big.Float { return toBig(x.value(), binary128.precision) }

// Float128FromBig rounds a number.
func Float128FromBig(x *big.Float) Float128 { return float128(fromBig(x)) }

// String returns x in decimal, with as many digits as tell it from other numbers.
func (x Float128) String() string { return text(x.Big()) }

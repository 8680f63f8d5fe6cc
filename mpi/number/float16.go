package number

import "math/big"

// A Float16 is a number of 2 bytes in the format binary16: C's _Float16, Fortran's real of 2 bytes
// (MPI_REAL2).
type Float16 struct{ bits uint16 }

// Float16FromBits returns the number of a representation, with the sign in bit 15.
func Float16FromBits(bits uint16) Float16 { return Float16{bits} }

// Bits returns the representation.
func (x Float16) Bits() uint16 { return x.bits }

func (x Float16) value() value {
	field, significand := int(x.bits>>10&0x1f), uint64(x.bits&0x3ff)
	if field > 0 {
		significand |= 1 << 10
	}
	return binary16.unpack(x.bits>>15 != 0, field, 0, significand)
}

func float16(v value) Float16 {
	field, _, significand := binary16.pack(v)
	bits := uint16(field)<<10 | uint16(significand)&0x3ff
	if v.neg {
		bits |= 1 << 15
	}
	return Float16{bits}
}

// Add returns x + y.
func (x Float16) Add(y Float16) Float16 { return float16(add(x.value(), y.value())) }

// Sub returns x - y.
func (x Float16) Sub(y Float16) Float16 { return float16(add(x.value(), y.value().negate())) }

// Mul returns x × y.
func (x Float16) Mul(y Float16) Float16 { return float16(mul(x.value(), y.value())) }

// Less tells whether x < y. -0 is less than 0, and a NaN is not less than any number, nor greater.
func (x Float16) Less(y Float16) bool { return less(x.value(), y.value()) }

// Equal tells whether x == y. Zeros are equal; a NaN is not equal to itself.
func (x Float16) Equal(y Float16) bool { return equal(x.value(), y.value()) }

// IsNaN tells whether x is not a number.
func (x Float16) IsNaN() bool { return x.value().class == nan }

// Float16FromFloat64 rounds a number.
func Float16FromFloat64(x float64) Float16 { return float16(fromFloat64(x)) }

// Float64 returns x, which is exact.
func (x Float16) Float64() float64 { return toFloat64(x.value()) }

// Big returns x, exactly, or nil if it is NaN.
func (x Float16) Big() *big.Float { return toBig(x.value(), binary16.precision) }

// Float16FromBig rounds a number.
func Float16FromBig(x *big.Float) Float16 { return float16(fromBig(x)) }

// String returns x in decimal, with as many digits as tell it from other numbers.
func (x Float16) String() string { return text(x.Big()) }

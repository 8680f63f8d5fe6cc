package number

import (
	"math"
	"math/big"
)

func fromFloat64(x float64) value {
	bits := math.Float64bits(x)
	field, significand := int(bits>>52&0x7ff), bits&(1<<52-1)
	if field > 0 {
		significand |= 1 << 52
	}
	return binary64.unpack(bits>>63 != 0, field, 0, significand)
}

func toFloat64(v value) float64 {
	field, _, significand := binary64.pack(v)
	bits := uint64(field)<<52 | significand&(1<<52-1)
	if v.neg {
		bits |= 1 << 63
	}
	return math.Float64frombits(bits)
}

// toBig returns a value of precision bits, or nil if it is NaN.
func toBig(v value, precision uint) *big.Float {
	z := new(big.Float).SetPrec(precision)
	switch v.class {
	case nan:
		return nil
	case infinite:
		return z.SetInf(v.neg)
	case finite:
		significand := new(big.Int).SetUint64(v.hi)
		significand.Lsh(significand, 64).Or(significand, new(big.Int).SetUint64(v.lo))
		z.SetMantExp(z.SetInt(significand), v.exp-127)
	}
	if v.neg {
		z.Neg(z)
	}
	return z
}

// fromBig returns the value of any number.
func fromBig(x *big.Float) value {
	v := value{neg: x.Signbit()}
	if x.IsInf() {
		v.class = infinite
		return v
	}
	mantissa := new(big.Float)
	exp := x.MantExp(mantissa) // x = mantissa × 2^exp, and the mantissa is from 1/2 on
	if mantissa.Sign() == 0 {
		return v
	}
	significand, accuracy := mantissa.Abs(mantissa.SetMantExp(mantissa, 128)).Int(nil)
	low := new(big.Int).And(significand, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	if accuracy != big.Exact {
		low |= 1
	}
	return value{class: finite, neg: v.neg, exp: exp - 1, hi: significand.Rsh(significand, 64).Uint64(), lo: low}
}

func text(x *big.Float) string {
	if x == nil {
		return "NaN"
	}
	return x.Text('g', -1)
}

package number

// longDoubleFormat is the format of a long double.
var longDoubleFormat = extended

func (x LongDouble) value() value { return x87Value(x.hi, x.lo) }

func longDouble(v value) LongDouble {
	hi, lo := x87Bits(v)
	return LongDouble{lo, hi}
}

// LongDoubleIsFloat128 tells whether a LongDouble has the representation of a Float128.
const LongDoubleIsFloat128 = false

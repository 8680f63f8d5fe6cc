//go:build !amd64

package number

// longDoubleFormat is the format of a long double.
var longDoubleFormat = binary128

func (x LongDouble) value() value { return Float128(x).value() }

func longDouble(v value) LongDouble { return LongDouble(float128(v)) }

// LongDoubleIsFloat128 tells whether a LongDouble has the representation of a Float128.
const LongDoubleIsFloat128 = true

package number

import "math/bits"

// A class says what a value is.
type class uint8

const (
	zero class = iota
	finite
	infinite
	nan
)

// A value is a floating-point number outside of any format. A finite one is hi:lo × 2^(exp-127),
// where bit 127 of hi:lo is set; a number of any format has its lowest 15 bits clear. Results of add
// and mul may have more bits than hi:lo: then bit 0 is set, so that rounding sees that some follow.
// In a NaN, hi:lo is the significand, with bit 127 set.
type value struct {
	class  class
	neg    bool
	exp    int
	hi, lo uint64
}

// quietNaN is the result of operations that have none.
var quietNaN = value{class: nan, hi: 3 << 62}

// add returns a + b.
func add(a, b value) value {
	switch {
	case a.class == nan:
		return a
	case b.class == nan:
		return b
	case a.class == infinite && b.class == infinite && a.neg != b.neg:
		return quietNaN
	case a.class == infinite:
		return a
	case b.class == infinite:
		return b
	case a.class == zero && b.class == zero:
		return value{neg: a.neg && b.neg}
	case a.class == zero:
		return b
	case b.class == zero:
		return a
	}
	if a.exp < b.exp || a.exp == b.exp && less128(a.hi, a.lo, b.hi, b.lo) {
		a, b = b, a
	}
	// Half of each, which leaves room for a carry.
	ahi, alo := a.hi>>1, a.hi<<63|a.lo>>1
	bhi, blo := shiftRight(b.hi, b.lo, uint(min(a.exp-b.exp+1, 200)))
	if a.neg == b.neg {
		var carry uint64
		alo, carry = bits.Add64(alo, blo, 0)
		ahi, _ = bits.Add64(ahi, bhi, carry)
	} else {
		var borrow uint64
		alo, borrow = bits.Sub64(alo, blo, 0)
		ahi, _ = bits.Sub64(ahi, bhi, borrow)
	}
	return normalize(a.neg, a.exp+1, ahi, alo)
}

// mul returns a × b.
func mul(a, b value) value {
	neg := a.neg != b.neg
	switch {
	case a.class == nan:
		return a
	case b.class == nan:
		return b
	case a.class == infinite || b.class == infinite:
		if a.class == zero || b.class == zero {
			return quietNaN
		}
		return value{class: infinite, neg: neg}
	case a.class == zero || b.class == zero:
		return value{neg: neg}
	}
	// The product has the words p3 to p0.
	p1, p0 := bits.Mul64(a.lo, b.lo)
	p3, p2 := bits.Mul64(a.hi, b.hi)
	for _, xy := range [2][2]uint64{{a.hi, b.lo}, {a.lo, b.hi}} {
		hi, lo := bits.Mul64(xy[0], xy[1])
		var carry uint64
		p1, carry = bits.Add64(p1, lo, 0)
		p2, carry = bits.Add64(p2, hi, carry)
		p3 += carry
	}
	if p3>>63 == 0 { // then bit 126 of the upper half is set
		p3, p2, p1 = p3<<1|p2>>63, p2<<1|p1>>63, p1<<1
	} else {
		a.exp++
	}
	if p1|p0 != 0 {
		p2 |= 1
	}
	return value{class: finite, neg: neg, exp: a.exp + b.exp, hi: p3, lo: p2}
}

func (v value) negate() value {
	v.neg = !v.neg
	return v
}

// less tells whether a < b, which is false if one is NaN. -0 is less than 0, as in Go's max and min.
func less(a, b value) bool {
	switch {
	case a.class == nan || b.class == nan:
		return false
	case a.neg != b.neg:
		return a.neg
	case a.neg:
		return smaller(b, a)
	}
	return smaller(a, b)
}

// smaller tells whether |a| < |b|.
func smaller(a, b value) bool {
	switch {
	case a.class != b.class:
		return a.class < b.class
	case a.class != finite:
		return false
	case a.exp != b.exp:
		return a.exp < b.exp
	}
	return less128(a.hi, a.lo, b.hi, b.lo)
}

// equal tells whether a and b are the same number. 0 and -0 are equal.
func equal(a, b value) bool {
	return a.class != nan && (a.class == zero && b.class == zero || a == b)
}

func less128(ahi, alo, bhi, blo uint64) bool { return ahi < bhi || ahi == bhi && alo < blo }

// normalize returns the number hi:lo × 2^(exp-127).
func normalize(neg bool, exp int, hi, lo uint64) value {
	if hi|lo == 0 {
		return value{} // a difference of equal numbers is +0
	}
	n := uint(bits.LeadingZeros64(hi))
	if hi == 0 {
		n = 64 + uint(bits.LeadingZeros64(lo))
	}
	hi, lo = shiftLeft(hi, lo, n)
	return value{class: finite, neg: neg, exp: exp - int(n), hi: hi, lo: lo}
}

func shiftLeft(hi, lo uint64, n uint) (uint64, uint64) {
	return hi<<n | lo>>(64-n) | lo<<(n-64), lo << n
}

// shiftRight sets bit 0 of the result if any of the bits lost were set.
func shiftRight(hi, lo uint64, n uint) (uint64, uint64) {
	lostHi, lostLo := shiftLeft(hi, lo, 128-min(n, 128))
	hi, lo = hi>>n, lo>>n|hi<<(64-n)|hi>>(n-64)
	if lostHi|lostLo != 0 {
		lo |= 1
	}
	return hi, lo
}

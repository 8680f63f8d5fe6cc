package number

// A format is a binary floating-point format: how many bits a significand has, with the leading one,
// and the largest exponent.
type format struct {
	precision uint
	expMax    int
}

var (
	binary16  = format{11, 15}
	binary32  = format{24, 127}
	binary64  = format{53, 1023}
	extended  = format{64, 16383}
	binary128 = format{113, 16383}
)

// special is the exponent field of infinities and NaNs.
func (f format) special() int { return 2*f.expMax + 1 }

// unpack returns the value of an exponent field and a significand, with its leading bit.
func (f format) unpack(neg bool, field int, hi, lo uint64) value {
	hi, lo = shiftLeft(hi, lo, 128-f.precision)
	switch {
	case field == f.special() && hi<<1|lo == 0:
		return value{class: infinite, neg: neg}
	case field == f.special():
		return value{class: nan, neg: neg, hi: hi, lo: lo}
	case hi|lo == 0:
		return value{neg: neg}
	}
	return normalize(neg, max(field, 1)-f.expMax, hi, lo)
}

// pack rounds a value. It returns the exponent field and the significand, with its leading bit.
func (f format) pack(v value) (field int, hi, lo uint64) {
	drop := 128 - f.precision
	switch v.class {
	case zero:
		return 0, 0, 0
	case infinite:
		return f.infinity()
	case nan:
		hi, lo = v.hi>>drop, v.lo>>drop|v.hi<<(64-drop)|v.hi>>(drop-64)
		return f.special(), hi | f.bit(2)[0], lo | f.bit(2)[1] // quiet
	}
	field = v.exp + f.expMax
	if field < 1 {
		drop, field = drop+uint(min(1-field, 200)), 1
	}
	hi, lo = roundRight(v.hi, v.lo, drop)
	if over := f.bit(0); hi&over[0]|lo&over[1] != 0 {
		hi, lo, field = hi>>1, lo>>1|hi<<63, field+1
	}
	if field >= f.special() {
		return f.infinity()
	}
	if one := f.bit(1); hi&one[0]|lo&one[1] == 0 {
		field = 0 // subnormal
	}
	return field, hi, lo
}

func (f format) infinity() (field int, hi, lo uint64) {
	one := f.bit(1)
	return f.special(), one[0], one[1]
}

// bit returns the mask of a bit of the significand: 1 is the leading one, 2 the one behind it.
func (f format) bit(i uint) [2]uint64 {
	n := f.precision - i
	return [2]uint64{1 << (n - 64), 1 << n}
}

// roundRight shifts by n > 1 bits, and rounds to nearest, ties to even.
func roundRight(hi, lo uint64, n uint) (uint64, uint64) {
	hi, lo = shiftRight(hi, lo, n-2) // the two lowest bits are a half, and whether anything follows it
	up := uint64(0)
	if lo&3 == 3 || lo&7 == 6 {
		up = 1
	}
	hi, lo = hi>>2, lo>>2|hi<<62
	lo += up
	if lo < up {
		hi++
	}
	return hi, lo
}

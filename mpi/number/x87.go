package number

// x87Value returns the value of an extended number: sign and exponent in the lowest 16 bits of hi,
// the significand with its leading bit in lo. Numbers whose leading bit is 0 although their exponent
// says otherwise are NaN, as for the processor.
func x87Value(hi, lo uint64) value {
	field := int(hi & 0x7fff)
	if field > 0 && lo>>63 == 0 {
		return quietNaN
	}
	return extended.unpack(hi>>15&1 != 0, field, 0, lo)
}

func x87Bits(v value) (hi, lo uint64) {
	field, _, lo := extended.pack(v)
	hi = uint64(field)
	if v.neg {
		hi |= 1 << 15
	}
	return hi, lo
}

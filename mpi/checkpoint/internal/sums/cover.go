package sums

// Mark returns a number for a range of bytes. The numbers of ranges that together have each byte of a
// larger range once add up to that of the larger range. Otherwise they do not, except by a chance of
// 2^-64: a byte where more ranges begin than end, or fewer, adds a number that looks random.
func Mark(off, bytes int64) uint64 { return mix(off+bytes) - mix(off) }

// mix is the output function of SplitMix64, on a counter.
func mix(n int64) uint64 {
	x := uint64(n+1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

package samplesort

// A Record is an element to sort, by Key; Value does not matter.
type Record struct{ Key, Value uint64 }

// RecordBytes is the size of a record in a file and in memory.
const RecordBytes = 16

// mix returns a hash of a number in which each bit depends on all others (the end of SplitMix64).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// golden is an odd constant without structure: 2^64 divided by the golden ratio.
const golden = 0x9e3779b97f4a7c15

// hash returns a hash of a record. Sums of hashes distinguish sets of records.
func (r Record) hash() uint64 { return mix(r.Key + mix(r.Value+golden) + golden) }

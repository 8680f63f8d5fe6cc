package samplesort

// A Record is what is sorted: by Key, whatever Value is.
type Record struct{ Key, Value uint64 }

// RecordBytes is the size of a record in a file and in memory.
const RecordBytes = 16

// mix is a hash of a number in which each bit depends on all (the end of SplitMix64).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// golden is an odd constant without structure, 2^64 by the golden ratio.
const golden = 0x9e3779b97f4a7c15

// hash of a record. Sums of it tell two sets of records apart.
func (r Record) hash() uint64 { return mix(r.Key + mix(r.Value+golden) + golden) }

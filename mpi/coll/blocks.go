package coll

// blocks divides count elements of size bytes among n ranks, as evenly as possible:
// the first count mod n blocks have one element more.
type blocks struct{ count, size, n int }

// at returns the offset of block i in bytes, for 0 ≤ i ≤ n.
func (b blocks) at(i int) int {
	return (i*(b.count/b.n) + min(i, b.count%b.n)) * b.size
}

// of returns blocks i to j-1 of buf.
func (b blocks) of(buf []byte, i, j int) []byte { return buf[b.at(i):b.at(j)] }

// around returns k ≤ n blocks from block i on. Block 0 follows the last block, so there are two
// pieces. Either may be empty.
func (b blocks) around(buf []byte, i, k int) [2][]byte {
	first := min(k, b.n-i)
	return [2][]byte{b.of(buf, i, i+first), b.of(buf, 0, k-first)}
}

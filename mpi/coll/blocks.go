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

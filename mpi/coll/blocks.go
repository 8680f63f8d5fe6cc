package coll

// blocks divides count elements of size bytes among n ranks, as evenly as
// whole elements allow: the first count mod n blocks have one more.
type blocks struct{ count, size, n int }

// at is where block i begins, in bytes, for 0 ≤ i ≤ n.
func (b blocks) at(i int) int {
	return (i*(b.count/b.n) + min(i, b.count%b.n)) * b.size
}

// of is the blocks from i up to and without j of buf.
func (b blocks) of(buf []byte, i, j int) []byte { return buf[b.at(i):b.at(j)] }

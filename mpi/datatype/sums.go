package datatype

// sums adds and multiplies, and records whether a result did not fit in an int.
type sums struct{ bad bool }

func (c *sums) add(a, b int) int {
	s := a + b
	if (s > a) != (b > 0) && b != 0 {
		c.bad = true
	}
	return s
}

func (c *sums) sub(a, b int) int {
	s := a - b
	if (s < a) != (b > 0) && b != 0 {
		c.bad = true
	}
	return s
}

func (c *sums) mul(a, b int) int {
	p := a * b
	// Factors of 32 bits are usual, and need no division.
	if a == int(int32(a)) && b == int(int32(b)) {
		return p
	}
	if a != 0 && (p/a != b || a == -1 && b == -b) {
		c.bad = true
	}
	return p
}

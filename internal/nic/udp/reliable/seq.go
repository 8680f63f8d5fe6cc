package reliable

import "fmt"

// Seq is the number of a segment. Numbers wrap: they are compared the shorter way
// around, which is correct as long as they are less than 2^31 apart. The windows
// of a Lane keep them far closer.
type Seq uint32

// Add is the number n behind s, or before it if n is negative.
func (s Seq) Add(n int) Seq { return s + Seq(uint32(n)) }

// Sub is how many numbers s is behind t: negative if s is before t.
func (s Seq) Sub(t Seq) int { return int(int32(s - t)) }

// Before reports whether s comes before t.
func (s Seq) Before(t Seq) bool { return s.Sub(t) < 0 }

// In reports whether s is one of the n numbers from first on.
func (s Seq) In(first Seq, n int) bool { return uint32(s-first) < uint32(n) }

func (s Seq) String() string { return fmt.Sprintf("%d", uint32(s)) }

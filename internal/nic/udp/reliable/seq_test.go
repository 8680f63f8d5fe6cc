package reliable

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// All pairs of numbers around the values where the comparison changes are
// compared with plain integers that do not wrap.
func TestSeqAroundTheWrap(t *testing.T) {
	const near, turn = 300, int64(1) << 32
	for _, origin := range []int64{0, 1 << 12, 1<<31 - near/2, 1 << 31, turn - near/2, turn - 1, turn, 3 * turn} {
		for a := origin - near; a <= origin+near; a += 7 {
			for b := origin - near; b <= origin+near; b++ {
				s, u := Seq(uint32(a)), Seq(uint32(b))
				ok := s.Sub(u) == int(a-b) && s.Before(u) == (a < b) && u.Add(int(a-b)) == s &&
					s.In(u, near) == (a >= b && a < b+near)
				if !ok {
					t.Fatalf("%d and %d (%v and %v)", a, b, s, u)
				}
			}
		}
	}
}

func TestSeqFarApart(t *testing.T) {
	const far = 1<<31 - 1
	for _, s := range []Seq{0, 1, 77, far, far + 1, ^Seq(0)} {
		assert.True(t, s.Before(s.Add(far)))
		assert.False(t, s.Add(far).Before(s))
		assert.Equal(t, far, s.Add(far).Sub(s))
		assert.Equal(t, -far, s.Sub(s.Add(far)))
	}
	assert.Equal(t, "4294967295", Seq(0).Add(-1).String())
}

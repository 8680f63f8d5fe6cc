package client

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParallel: each index is done once, with at most atOnce calls at a time, and the result is the first error by index.
func TestParallel(t *testing.T) {
	failed := []error{errors.New("first"), errors.New("second")}
	for _, n := range []int{0, 1, 2, 3, 100} {
		for _, atOnce := range []int{1, 2, 7, 200} {
			var under, most atomic.Int64
			done := make([]atomic.Int64, n)
			err := parallel(n, atOnce, func(i int) error {
				now := under.Add(1)
				for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
				}
				defer under.Add(-1)
				done[i].Add(1)
				if at := i - n/2; at >= 0 && at < len(failed) {
					return failed[at]
				}
				return nil
			})
			if n == 0 {
				require.NoError(t, err)
			} else {
				require.Equal(t, failed[0], err, "%d, %d at once", n, atOnce)
			}
			for i := range done {
				require.EqualValues(t, 1, done[i].Load(), "%d of %d, %d at once", i, n, atOnce)
			}
			require.LessOrEqual(t, most.Load(), int64(min(n, atOnce)))
		}
	}
}

// TestAll: each call waits for all others, so all run at the same time.
func TestAll(t *testing.T) {
	const n = 20
	var come atomic.Int64
	everybody := make(chan struct{})
	require.NoError(t, all(n, func(int) error {
		if come.Add(1) == n {
			close(everybody)
		}
		<-everybody
		return nil
	}))
}

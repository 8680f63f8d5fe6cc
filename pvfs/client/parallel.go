package client

import (
	"sync"
	"sync/atomic"
)

// all runs do for 0 to n-1 in parallel. It waits for all, and returns the first error by index.
func all(n int, do func(i int) error) error { return parallel(n, n, do) }

// parallel is all with at most atOnce calls at a time, one of them on this goroutine.
func parallel(n, atOnce int, do func(i int) error) error {
	if n == 1 {
		return do(0)
	}
	var next atomic.Int64
	var others sync.WaitGroup
	errs := make([]error, n)
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			errs[i] = do(i)
		}
	}
	for range min(n, atOnce) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

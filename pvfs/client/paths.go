package client

import (
	"strings"
	"sync"
	"sync/atomic"
)

// lastPart is what comes last in a path; "/" for the root.
func lastPart(path string) string {
	path = strings.TrimRight(path, "/")
	if path == "" {
		return "/"
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// join is the path of a name in a directory.
func join(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

// each runs do for 0 to n-1, several at once, and returns the first error by index.
func each(n, atOnce int, do func(i int) error) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	errs := make([]error, n)
	for range min(n, atOnce) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = do(i)
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

//go:build !amd64

package shm

import "sync/atomic"

// storeRelease makes v visible after everything stored before it.
func storeRelease(word *uint64, v uint64) {
	atomic.StoreUint64(word, v)
}

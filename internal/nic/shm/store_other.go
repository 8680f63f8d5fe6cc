//go:build !amd64

package shm

import "sync/atomic"

// storeRelease makes v visible after all earlier stores.
func storeRelease(word *uint64, v uint64) {
	atomic.StoreUint64(word, v)
}

//go:build !amd64 || race

package core

import "sync/atomic"

// storeRelease makes v visible after all earlier stores.
func storeRelease(word *uint32, v uint32) { atomic.StoreUint32(word, v) }

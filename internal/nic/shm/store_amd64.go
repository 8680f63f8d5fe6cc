package shm

// storeRelease makes v visible after all earlier stores. On amd64 every store is
// a release store (total store order) and an aligned word is written at once, so
// a plain store is enough. sync/atomic would add a full fence, which costs as
// much as the rest of PostRecv. The compiler keeps the store in place relative to
// the atomic operations around it.
func storeRelease(word *uint64, v uint64) {
	*word = v
}

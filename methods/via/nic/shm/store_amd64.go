package shm

// storeRelease makes v visible after everything stored before it. On amd64
// every store is one (total store order) and an aligned word is written at
// once, so a plain store does; sync/atomic would add a full fence, which costs
// as much as the rest of PostRecv. The compiler keeps it in place relative to
// the atomic operations around it.
func storeRelease(word *uint64, v uint64) {
	*word = v
}

//go:build !race

package core

// storeRelease makes v visible after all earlier stores. On amd64 every store does that; sync/atomic
// would add a full fence. The compiler keeps the order of stores and atomic operations.
func storeRelease(word *uint32, v uint32) { *word = v }

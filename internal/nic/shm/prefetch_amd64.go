package shm

import "unsafe"

// prefetchWrite asks for the cache line of p for writing: when the store comes,
// the other side's copy is gone already. It changes nothing else, and p may be
// any address.
//
//go:noescape
func prefetchWrite(p unsafe.Pointer)

// prefetchRead asks for the cache line of p for reading: a later load need not wait
// for it. It changes nothing else, and p may be any address.
//
//go:noescape
func prefetchRead(p unsafe.Pointer)

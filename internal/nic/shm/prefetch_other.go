//go:build !amd64

package shm

import "unsafe"

func prefetchWrite(unsafe.Pointer) {}

func prefetchRead(unsafe.Pointer) {}

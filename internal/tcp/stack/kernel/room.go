//go:build linux

package kernel

import (
	"math"

	"golang.org/x/sys/unix"
)

// Room implements stack.Limited. It leaves an eighth of the process's descriptors, and 64, for other uses.
func (s *Stack) Room() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt
	}
	return roomOf(limit.Cur)
}

func roomOf(descriptors uint64) int {
	n := int(min(descriptors, math.MaxInt32))
	return max(n-n/8-64, n/2)
}

// Package machine says what the machine has for this process, for limits that depend on it. How many descriptors there are, methods/tcp
// asks itself.
package machine

import (
	"math"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Memory is how many bytes of memory this process may use: what the machine has, or the limit of its control group if that is
// lower. If the system tells neither, it is as much as there can be.
var Memory = sync.OnceValue(func() int {
	return least(memlimit.FromSystem, memlimit.FromCgroup)
})

// least is the lowest limit that one of the sources knows.
func least(sources ...func() (uint64, error)) int {
	n := uint64(math.MaxInt)
	for _, source := range sources {
		if limit, err := source(); err == nil && limit > 0 {
			n = min(n, limit)
		}
	}
	return int(n)
}

// Share is a part of the memory, 1/parts, within limits, in bytes.
func Share(parts, least, most int) int { return min(max(Memory()/parts, least), most) }

// Package machine reports the resources of this process, for limits that depend on them. methods/tcp finds the number of
// descriptors itself.
package machine

import (
	"math"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Memory is how many bytes of memory this process may use: the machine's memory, or the limit of its control group if that is
// lower. If the system tells neither, it is the largest possible number.
var Memory = sync.OnceValue(func() int {
	return least(memlimit.FromSystem, memlimit.FromCgroup)
})

// least is the lowest limit reported by the sources.
func least(sources ...func() (uint64, error)) int {
	n := uint64(math.MaxInt)
	for _, source := range sources {
		if limit, err := source(); err == nil && limit > 0 {
			n = min(n, limit)
		}
	}
	return int(n)
}

// Share is a fraction of the memory, 1/parts, within limits, in bytes.
func Share(parts, least, most int) int { return min(max(Memory()/parts, least), most) }

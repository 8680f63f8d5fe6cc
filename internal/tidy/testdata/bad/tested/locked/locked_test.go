package locked

import (
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/race"
)

func TestLock(t *testing.T) { Lock.Lock() }

func TestNoAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
}

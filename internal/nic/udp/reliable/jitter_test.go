package reliable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// A path whose delay varies by more than a queue may have, with no queue in it and no
// loss, is no reason to reduce the window to the least: with that there are only one
// or two measurements in a round trip, and hardly any of them is short.
func TestDelayUsesAPathWhoseDelayVaries(t *testing.T) {
	const segments, perSecond = 6000, 15000 // the least window makes 7500
	sim.RunAtMost(t, 5, func(t *testing.T, seed uint64) {
		varies := sim.LinkOptions{DelayMin: 50 * us, DelayMean: 150 * us}
		p := newPair(seed, Options{Congestion: NewDelay(DelayOptions{})}, varies, varies)
		p.start(segments, 0)
		p.run(t)
		assert.Less(t, p.w.Now(), segments*time.Second/perSecond)
	})
}

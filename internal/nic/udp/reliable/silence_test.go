package reliable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// A path that breaks for good, in either direction, is noticed by the side that
// waits for something, within the configured time and not before; it then reports
// exactly what was not acked.
func TestSilenceIsNoticedInTime(t *testing.T) {
	const giveUp, slack = 2 * time.Second, TimeoutMax
	for way := range 3 {
		sim.RunAtMost(t, 20, func(t *testing.T, seed uint64) {
			link := sim.LinkOptions{DelayMin: 20 * us, DelayMean: 30 * us, Loss: 0.1}
			p := newPair(seed, Options{GiveUp: giveUp, Congestion: NewDelay(DelayOptions{})}, link, link)
			p.start(-1, 0)
			broken := p.w.Between(time.Millisecond, 5*time.Millisecond)
			p.w.At(broken, func() { p.cut(way) })
			require.NoError(t, p.w.RunUntil(func() bool { return p.a.err != nil }))
			assert.ErrorIs(t, p.a.err, ErrSilent)
			assert.GreaterOrEqual(t, p.a.errAt, broken+giveUp-slack)
			assert.LessOrEqual(t, p.a.errAt, broken+giveUp+slack)
			assert.NoError(t, p.b.err, "it waits for nothing")
			assert.Empty(t, p.a.model.wrong)
			left := 0
			p.a.lane.Unacked(func(s *item) {
				left++
				assert.False(t, p.a.model.ackedN[*s])
			})
			assert.Equal(t, int(p.a.sent), left+len(p.a.model.ackedN))
		})
	}
}

// A path that works again in time continues where it was.
func TestAPartitionThatHeals(t *testing.T) {
	sim.RunAtMost(t, 20, func(t *testing.T, seed uint64) {
		link := sim.LinkOptions{DelayMin: 20 * us, DelayMean: 30 * us}
		p := newPair(seed, Options{GiveUp: 2 * time.Second, Congestion: NewDelay(DelayOptions{})}, link, link)
		p.start(5000, 5000)
		p.w.At(300*us, func() { p.w.Cut("a", "b") })
		p.w.At(1500*time.Millisecond, p.w.HealAll)
		p.run(t)
		assert.Less(t, p.w.Now(), 1500*time.Millisecond+2*TimeoutMax)
		assert.NotZero(t, p.a.lane.Stats().Timeouts)
	})
}

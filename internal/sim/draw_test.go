package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestDraw(t *testing.T) {
	d := Draw{rand.New(rand.NewPCG(1, 2))}
	picked := make(map[int]bool)
	times, chances := 0, 0
	for range 300 {
		picked[d.Pick(3, 5, 7)] = true
		at, p := d.UpTo(time.Second), d.Chance(0.5)
		assert.True(t, 0 <= at && at < time.Second)
		assert.True(t, 0 <= p && p < 0.5)
		if at == 0 {
			times++
		}
		if p == 0 {
			chances++
		}
	}
	assert.Equal(t, map[int]bool{3: true, 5: true, 7: true}, picked)
	assert.InDelta(t, 100, times, 40)
	assert.InDelta(t, 100, chances, 40)
}

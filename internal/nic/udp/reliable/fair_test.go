package reliable

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// Four senders share a bottleneck, whether they start together or not, on a clean
// path or a bad one, with a deep queue or a shallow one.
func TestFourSendersShareABottleneck(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "four senders, 10 Gbit/s, round trip 100 µs, after 60 ms in virtual time\n\n")
	fmt.Fprintf(&table, "%-9s %9s %6s %4s %7s %7s %9s %9s %6s   %s\n", "start", "queue KiB", "loss %", "ms", "Jain", "Gbit/s", "wait µs", "most µs", "drops", "each")
	for _, c := range []struct {
		start string
		at    func(int) time.Duration
		queue int
		loss  float64
	}{
		{"together", atOnce, 256, 0},
		{"together", atOnce, 256, 0.01},
		{"together", atOnce, 256, 0.05},
		{"one late", func(i int) time.Duration { return time.Duration(i/3) * 40 * time.Millisecond }, 256, 0},
		{"in turn", func(i int) time.Duration { return time.Duration(i) * 10 * time.Millisecond }, 256, 0},
		{"in turn", func(i int) time.Duration { return time.Duration(i) * 10 * time.Millisecond }, 1024, 0.01},
		{"in turn", func(i int) time.Duration { return time.Duration(i) * 10 * time.Millisecond }, 32, 0},
	} {
		f := newFlows(1, 4, c.queue<<10, c.loss, c.at, newDelay)
		// Without a delay to measure it takes longer until the shares are even.
		shallow, measure := c.queue < 64, pathMeasure
		if shallow {
			measure *= 4
		}
		rates := f.measure(60*time.Millisecond, measure)
		index := jain(rates)
		fmt.Fprintf(&table, "%-9s %9d %6.1f %4d %7.4f %7.2f %9.0f %9.0f %6d  ", c.start, c.queue, 100*c.loss, measure.Milliseconds(), index,
			sum(rates)/1e9, f.wait().Seconds()*1e6, f.neck.peak.Seconds()*1e6, f.neck.dropped)
		for _, r := range rates {
			fmt.Fprintf(&table, " %.2f", r/1e9)
		}
		table.WriteByte('\n')
		want := 0.99
		if shallow {
			want = 0.95
		}
		assert.GreaterOrEqual(t, index, want, "%s, queue %d, loss %g", c.start, c.queue, c.loss)
		assert.LessOrEqual(t, f.wait(), 2*pathDelay, "a standing queue: %s, queue %d, loss %g", c.start, c.queue, c.loss)
	}
	checkTable(t, "testdata/fair.golden", table.String())
}

// The share is fair with every seed.
func TestFairnessWhateverChanceDoes(t *testing.T) {
	sim.RunAtMost(t, 20, func(t *testing.T, seed uint64) {
		starts := sim.New(sim.Options{Seed: seed}).Rand()
		f := newFlows(seed, 4, pathQueue, 0.001, func(int) time.Duration {
			return time.Duration(starts.Int64N(int64(10 * time.Millisecond)))
		}, newDelay)
		rates := f.measure(40*time.Millisecond, pathMeasure)
		assert.GreaterOrEqual(t, jain(rates), 0.98, "%v", rates)
		assert.GreaterOrEqual(t, sum(rates), 0.9*pathRate*8)
		assert.LessOrEqual(t, f.wait(), 2*pathDelay, "a standing queue")
	})
}

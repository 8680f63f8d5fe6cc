package reliable

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// The path of the tables: 10 Gbit/s, a round trip of 100 µs, a queue of 256 KiB
// (210 µs) before the slow line, Ethernet's packets.
const (
	pathRate    = 10e9 / 8
	pathDelay   = 50 * time.Microsecond
	pathQueue   = 256 << 10
	pathSegment = 1448
	pathWarm    = 10 * time.Millisecond
	pathMeasure = 40 * time.Millisecond
)

// flows are senders that share a bottleneck.
type flows struct {
	w       *sim.World
	neck    *bottleneck
	senders []*party
}

// newFlows makes senders over one bottleneck with a queue of the given bytes;
// start returns when each begins to send.
func newFlows(seed uint64, n, queue int, loss float64, start func(i int) time.Duration, cc func() Congestion) *flows {
	w := sim.New(sim.Options{Seed: seed, StepsMax: 1 << 30})
	f := &flows{w: w, neck: &bottleneck{w: w, rate: pathRate, limit: queue}}
	for i := range n {
		there, back := fmt.Sprintf("there%d", i), fmt.Sprintf("back%d", i)
		link := sim.LinkOptions{DelayMin: pathDelay, DelayMean: pathDelay, Loss: loss}
		w.SetLink(there, back, link)
		w.SetLink(back, there, link)
		opts := Options{SegmentBytes: pathSegment}
		receiver := newParty(w, opts, nil)
		opts.Congestion = cc()
		sender := newParty(w, opts, nil)
		sender.supply = -1
		join(sender, receiver, through{f.neck, w.Link(there, back)}, linkWay{w.Link(back, there)})
		w.At(start(i), sender.pump)
		f.senders = append(f.senders, sender)
	}
	return f
}

func atOnce(int) time.Duration { return 0 }

// measure runs and returns how much each sender's peer received, in bit/s.
func (f *flows) measure(warm, measure time.Duration) (rates []float64) {
	f.w.RunFor(warm)
	f.neck.peak, f.neck.waits, f.neck.passed, f.neck.dropped = 0, 0, 0, 0
	before := make([]int, len(f.senders))
	for i, s := range f.senders {
		before[i] = s.peer.bytesIn
	}
	f.w.RunFor(measure)
	for i, s := range f.senders {
		rates = append(rates, float64(s.peer.bytesIn-before[i])*8/measure.Seconds())
	}
	return rates
}

// wait returns the average time that a packet waited in the bottleneck.
func (f *flows) wait() time.Duration { return f.neck.waits / time.Duration(max(f.neck.passed, 1)) }

func sum(rates []float64) (total float64) {
	for _, r := range rates {
		total += r
	}
	return total
}

// jain returns Jain's index of fairness: 1 if all have the same, 1/n if one has
// all.
func jain(rates []float64) float64 {
	var squares float64
	for _, r := range rates {
		squares += r * r
	}
	return sum(rates) * sum(rates) / (float64(len(rates)) * squares)
}

// fixedWindow is one and a half times what the path holds.
const fixedWindow = 3 * 125000 / 2

func newFixed() Congestion { return fixed(fixedWindow) }
func newDelay() Congestion { return NewDelay(DelayOptions{}) }

// Goodput against loss, as a table that a change of congestion control changes.
func TestGoodputAgainstLoss(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "10 Gbit/s, round trip 100 µs, queue %d KiB, segments of %d bytes, the same loss both ways; %v in virtual time\n\n",
		pathQueue>>10, pathSegment, pathMeasure)
	fmt.Fprintf(&table, "%-6s %6s %8s %8s %8s %8s %9s %9s\n",
		"", "loss %", "Gbit/s", "% of 0", "resent %", "needless", "time-outs", "queue µs")
	goodput := make(map[string]float64)
	for _, c := range []struct {
		name string
		cc   func() Congestion
	}{{"fixed", newFixed}, {"delay", newDelay}} {
		var lossless float64
		for _, loss := range []float64{0, 0.1, 1, 2, 5, 10, 20, 30} {
			f := newFlows(1, 1, pathQueue, loss/100, atOnce, c.cc)
			rate := sum(f.measure(pathWarm, pathMeasure))
			if loss == 0 {
				lossless = rate
			}
			s := f.senders[0].lane.Stats()
			share := 100 * rate / lossless
			goodput[fmt.Sprintf("%s %v", c.name, loss)] = share
			fmt.Fprintf(&table, "%-6s %6.1f %8.2f %8.1f %8.1f %8d %9d %9.0f\n", c.name, loss, rate/1e9, share,
				100*float64(s.Resent)/float64(s.Sent), s.Spurious, s.Timeouts, f.wait().Seconds()*1e6)
		}
	}
	for _, name := range []string{"fixed", "delay"} {
		assert.GreaterOrEqual(t, goodput[name+" 1"], 95.0, name)
		assert.GreaterOrEqual(t, goodput[name+" 5"], 80.0, name)
	}
	checkTable(t, "testdata/goodput.golden", table.String())
}

package reliable

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// slowRanges returns the runs of arrivals beyond next, found one by one.
func slowRanges(w *window) (runs []wire.Range) {
	for seq := w.next; seq != w.high; seq++ {
		switch {
		case !w.has(seq):
		case len(runs) > 0 && runs[len(runs)-1].End == uint32(seq):
			runs[len(runs)-1].End++
		default:
			runs = append(runs, wire.Range{First: uint32(seq), End: uint32(seq) + 1})
		}
	}
	return runs
}

// Whatever arrives, the ranges are true, the format accepts them, and all of them
// are sent if they fit; otherwise those that are new.
func TestRangesAgainstASlowWalk(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 2))
		for _, spread := range []int{3, 70, 700, WindowSegments} {
			first := Seq(rng.Uint32())
			var r receiver
			r.init(first)
			for range 2000 {
				seq := r.next.Add(rng.IntN(spread))
				if !r.has(seq) {
					r.set(seq)
					r.settle()
				}
				if spread < 100 || rng.IntN(40) == 0 {
					checkRanges(t, &r.window, seq, 1+rng.IntN(wire.RangesMax))
				}
			}
			require.True(t, first.Before(r.next) || spread > 100)
		}
	})
}

func checkRanges(t *testing.T, w *window, latest Seq, room int) {
	t.Helper()
	want := slowRanges(w)
	head := wire.Transport{Flags: wire.FlagAck, Ack: uint32(w.next)}
	n, all := w.ranges(head.Ranges[:room], latest)
	head.N = uint8(n)
	require.Equal(t, len(want) <= room, all)
	got := head.Ranges[:head.N]
	var parsed wire.Transport
	if _, err := parsed.Parse(head.Append(nil)); err != nil {
		t.Fatalf("%v: %v", err, got)
	}
	if len(want) <= room {
		require.Equal(t, want, append([]wire.Range(nil), got...))
		return
	}
	require.LessOrEqual(t, len(got), room)
	require.GreaterOrEqual(t, len(got), room-room/4)
	has := func(seq Seq) bool {
		for _, r := range got {
			if seq.In(Seq(r.First), int(r.End-r.First)) {
				return true
			}
		}
		return false
	}
	for _, r := range got {
		require.Contains(t, want, r)
	}
	require.True(t, has(w.high-1), "the newest arrival is told")
	if room >= 4 && !latest.Before(w.next) {
		require.True(t, has(latest), "the latest arrival is told: %v in %v", latest, got)
	}
}

func TestForgetTakesAnArrivalBack(t *testing.T) {
	var r receiver
	r.init(^Seq(0))
	r.set(3)
	high := r.high
	r.set(10)
	r.forget(10, high)
	r.settle()
	assert.Equal(t, []wire.Range{{First: 3, End: 4}}, slowRanges(&r.window))
	high = r.high
	r.set(^Seq(0))
	r.forget(^Seq(0), high)
	r.settle()
	assert.Equal(t, ^Seq(0), r.next)
}

// A lane without congestion control, and one whose connection has no keys yet, have a window, too.
func TestWindowOfAnyLane(t *testing.T) {
	most, used := New[int](Options{}).Window()
	assert.Equal(t, WindowSegments*SegmentBytes, most)
	assert.Zero(t, used)
	var none Lane[int]
	most, used = none.Window()
	assert.Zero(t, most)
	assert.Zero(t, used)
}

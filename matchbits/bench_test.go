package matchbits

import (
	"fmt"
	"testing"
)

var queued = []int{1, 10, 100, 1_000, 10_000, 100_000, 1_000_000}

// others fills an engine with n entries that never match the measured ones:
// consecutive tags of up to 1000 peers, as a busy server would have them.
func others(n int, add func(bits Bits)) {
	peers := min(n, 1000)
	for i := range n {
		add(expected(PeerID(2+i%peers), uint32(i/peers)))
	}
}

// BenchmarkMatch is one message from its receive to its match, with others
// queued. The tag is a new one each time.
func BenchmarkMatch(b *testing.B) {
	item := new(int)
	for _, n := range queued {
		b.Run(fmt.Sprintf("side=posted/kind=exact/queued=%d", n), func(b *testing.B) {
			e := New[*int, *int](Options{Seed: 1})
			others(n, func(bits Bits) { e.Post(bits, MaskNone, item) })
			b.ReportAllocs()
			tag := uint32(0)
			for b.Loop() {
				e.Post(expected(1, tag), MaskNone, item)
				if _, ok := e.Arrive(expected(1, tag)); !ok {
					b.Fatal("no match")
				}
				tag++
			}
		})
		b.Run(fmt.Sprintf("side=kept/kind=exact/queued=%d", n), func(b *testing.B) {
			e := New[*int, *int](Options{Seed: 1})
			others(n, func(bits Bits) { e.Keep(bits, item) })
			b.ReportAllocs()
			tag := uint32(0)
			for b.Loop() {
				e.Keep(expected(1, tag), item)
				if _, ok := e.Take(expected(1, tag), MaskNone); !ok {
					b.Fatal("no match")
				}
				tag++
			}
		})
		// The wildcard receive is the only one; the others are exact.
		b.Run(fmt.Sprintf("side=posted/kind=wildcard/queued=%d", n), func(b *testing.B) {
			e := New[*int, *int](Options{Seed: 1})
			others(n, func(bits Bits) { e.Post(bits, MaskNone, item) })
			b.ReportAllocs()
			tag := uint32(0)
			for b.Loop() {
				e.Post(expected(1, 0), MaskTag, item)
				if _, ok := e.Arrive(expected(1, tag)); !ok {
					b.Fatal("no match")
				}
				tag++
			}
		})
		// A wildcard receive takes the oldest of many.
		b.Run(fmt.Sprintf("side=kept/kind=wildcard/queued=%d", n), func(b *testing.B) {
			e := New[*int, *int](Options{Seed: 1})
			others(n, func(bits Bits) { e.Keep(bits, item) })
			b.ReportAllocs()
			tag := uint32(0)
			for b.Loop() {
				e.Keep(expected(1, tag), item)
				if _, ok := e.Take(0, MaskAll); !ok {
					b.Fatal("no match")
				}
				tag++
			}
		})
	}
}

// BenchmarkMatchWindow has a window of receives posted in advance, as in a stream
// of messages; one round is one message.
func BenchmarkMatchWindow(b *testing.B) {
	const window = 64
	item := new(int)
	for _, n := range queued {
		b.Run(fmt.Sprintf("queued=%d", n), func(b *testing.B) {
			e := New[*int, *int](Options{Seed: 1})
			others(n, func(bits Bits) { e.Post(bits, MaskNone, item) })
			tag := uint32(0)
			for ; tag < window; tag++ {
				e.Post(expected(1, tag), MaskNone, item)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := e.Arrive(expected(1, tag-window)); !ok {
					b.Fatal("no match")
				}
				e.Post(expected(1, tag), MaskNone, item)
				tag++
			}
		})
	}
}

// BenchmarkSameTag is the other extreme: everything has the same bits.
func BenchmarkSameTag(b *testing.B) {
	item := new(int)
	for _, n := range queued {
		b.Run(fmt.Sprintf("queued=%d", n), func(b *testing.B) {
			e := New[*int, *int](Options{Seed: 1})
			for range n {
				e.Post(expected(1, 1), MaskNone, item)
			}
			b.ReportAllocs()
			for b.Loop() {
				e.Arrive(expected(1, 1))
				e.Post(expected(1, 1), MaskNone, item)
			}
		})
	}
}

// BenchmarkGrow is the cost of an entry while an engine grows to a million,
// including the slices that it outgrows.
func BenchmarkGrow(b *testing.B) {
	const n = 1_000_000
	item := new(int)
	for b.Loop() {
		e := New[*int, *int](Options{Seed: 1})
		others(n, func(bits Bits) { e.Post(bits, MaskNone, item) })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}

// BenchmarkRemove cancels a receive in the middle of many.
func BenchmarkRemove(b *testing.B) {
	item := new(int)
	for _, n := range queued {
		b.Run(fmt.Sprintf("queued=%d", n), func(b *testing.B) {
			e := New[*int, *int](Options{Seed: 1})
			others(n, func(bits Bits) { e.Post(bits, MaskNone, item) })
			b.ReportAllocs()
			tag := uint32(0)
			for b.Loop() {
				ref := e.Post(expected(1, tag), MaskNone, item)
				if _, ok := e.RemovePosted(ref); !ok {
					b.Fatal("stale")
				}
				tag++
			}
		})
	}
}

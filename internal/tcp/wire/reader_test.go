package wire

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// everySize is the length up to which a stream is fed in pieces of every size.
// Longer ones are fed in pieces of every size up to pieceMax, and of some larger
// sizes.
const (
	everySize = 8 << 10
	pieceMax  = 4 << 10
)

// sizes are the sizes of pieces that a stream of n bytes is fed in.
func sizes(n int) (all []int) {
	step := func(size int) int { return 1 }
	switch {
	case testing.Short():
		step = func(size int) int { return 1 + size/4 }
	case race.Enabled:
		step = func(size int) int { return 1 + size/8 }
	case n > 256<<10: // too long to be fed four thousand times
		step = func(size int) int { return 1 + size/64 }
	}
	for size := 1; size < n; size += step(size) {
		if size > pieceMax && n > everySize {
			size += size / 4
		}
		all = append(all, size)
	}
	return append(all, n)
}

// checkPieces feeds a stream in pieces of many sizes and expects the same
// messages every time.
func checkPieces(t *testing.T, name string, stream []byte) {
	t.Helper()
	want, ends := slowDecode(stream)
	require.NotEmpty(t, want, name)
	require.Equal(t, "left=0 partial=false", ends, name)
	for _, size := range sizes(len(stream)) {
		var a assembler
		a.feedAll(stream, size)
		if !sameMessages(want, a.whole) || a.ends() != ends {
			require.Fail(t, "other messages", "%s in pieces of %d: %d messages of %d, %s", name, size, len(a.whole), len(want), a.ends())
		}
	}
}

// Whole captured streams, contents included.
func TestReaderTakesCapturedStreamsInPieces(t *testing.T) {
	for _, v := range golden.Load(t, "testdata/streams.golden") {
		checkPieces(t, v.Name, v.Bytes)
	}
}

// Every stream of every capture, with other contents.
func TestReaderTakesEveryOutlineInPieces(t *testing.T) {
	outlines := golden.Load(t, "testdata/outlines.golden")
	require.Greater(t, len(outlines), 200)
	var modes [16]int
	for _, v := range outlines {
		stream := refill(v)
		whole, _ := slowDecode(stream)
		require.Len(t, v.Bytes, len(whole)*HeaderLen, v.Name)
		for _, m := range whole {
			modes[m.header.Mode]++
		}
		checkPieces(t, v.Name, stream)
	}
	t.Logf("%d streams: %d unexpected messages, %d eager, %d rendezvous",
		len(outlines), modes[ModeUnexpected], modes[ModeEager], modes[ModeRendezvous])
}

func TestReaderTakesRandomPieces(t *testing.T) {
	streams := golden.Load(t, "testdata/streams.golden")
	sim.Run(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 24))
		for _, v := range streams {
			want, ends := slowDecode(v.Bytes)
			var a assembler
			for rest := v.Bytes; len(rest) > 0; {
				n := min(len(rest), 1+rng.IntN(1+rng.IntN(3*HeaderLen)))
				a.feed(rest[:n])
				rest = rest[n:]
			}
			require.True(t, sameMessages(want, a.whole), v.Name)
			require.Equal(t, ends, a.ends(), v.Name)
		}
	})
}

// A stream may end anywhere: exactly the messages complete by then are found.
func TestReaderTakesEveryPrefix(t *testing.T) {
	for _, v := range golden.Load(t, "testdata/streams.golden") {
		if len(v.Bytes) > everySize {
			continue
		}
		for n := range v.Bytes {
			var a assembler
			a.feed(v.Bytes[:n])
			want, ends := slowDecode(v.Bytes[:n])
			require.True(t, sameMessages(want, a.whole), "%s, %d bytes", v.Name, n)
			require.Equal(t, ends, a.ends(), "%s, %d bytes", v.Name, n)
		}
	}
}

// Messages before a bad header are valid, and are delivered, however the stream
// was split.
func TestReaderGivesWhatCameBeforeABadHeader(t *testing.T) {
	good := append(Unexpected(1, 5).Append(nil), "hello"...)
	good = append(good, Expected(2, 0).Append(nil)...)
	for _, v := range golden.Load(t, "testdata/refused.golden") {
		stream := append(good[:len(good):len(good)], v.Bytes...)
		want, ends := slowDecode(stream)
		require.Len(t, want, 2)
		for size := 1; size <= len(stream); size++ {
			var a assembler
			a.feedAll(stream, size)
			require.True(t, sameMessages(want, a.whole), "%s, pieces of %d", v.Name, size)
			require.Equal(t, ends, a.ends(), "%s, pieces of %d", v.Name, size)
		}
	}
}

// A stranger is recognised by the first byte that is not ours, not only by the
// 24th.
func TestReaderRefusesAStrangerAtOnce(t *testing.T) {
	magic := []byte{0xbf, 0xca, 0, 0}
	for n := range magic {
		var r Reader
		_, _, ok, err := r.Header(magic[:n])
		require.NoError(t, err, "%d bytes of the magic number", n)
		require.False(t, ok)
		_, taken, ok, err := r.Header([]byte{0x77})
		assert.ErrorIs(t, err, ErrMagic, "after %d bytes", n)
		assert.False(t, ok)
		assert.Equal(t, 1, taken)
	}
	var r Reader
	_, _, _, err := r.Header([]byte("GET "))
	assert.ErrorContains(t, err, "magic number 542393671, want 51903")
}

func TestReaderPanicsForItsOwnerOnly(t *testing.T) {
	var r Reader
	_, n, ok, err := r.Header(Expected(1, 10).Append(nil))
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, HeaderLen, n)
	assert.Panics(t, func() { _, _, _, _ = r.Header([]byte{1}) }, "the message comes first")
	assert.Panics(t, func() { r.Body(11) })
	assert.Panics(t, func() { r.Body(-1) })
	r.Body(4)
	r.Body(0)
	assert.Equal(t, 6, r.Left())
	r.Body(6)
	assert.Zero(t, r.Left())
	assert.Panics(t, func() { r.Body(1) })
}

func TestReaderDoesNotAllocate(t *testing.T) {
	var r Reader
	stream := Expected(1, 10).Append(nil)
	for _, cut := range []int{0, 7} {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			if cut > 0 {
				_, _, _, _ = r.Header(stream[:cut])
			}
			_, _, _, _ = r.Header(stream[cut:])
			r.Body(10)
		}))
	}
}

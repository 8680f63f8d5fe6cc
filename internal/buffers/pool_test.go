package buffers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTakeHasRoomAndIsEmpty(t *testing.T) {
	var p Pool
	for _, size := range []int{0, 1, 63, 64, 65, 4096, 4097, 32 << 10, 32<<10 + 1, 1 << 20} {
		for range 2 { // new, and from the pool
			b := p.Take(size)
			require.Empty(t, b)
			require.GreaterOrEqual(t, cap(b), size)
			p.Give(append(b, make([]byte, size)...))
		}
	}
}

func TestAGivenBufferIsTakenAgain(t *testing.T) {
	var p Pool
	first := p.Take(1000)[:1]
	p.Give(first)
	again := p.Take(600)[:1]
	assert.Same(t, &first[0], &again[0])
	assert.Zero(t, testing.AllocsPerRun(100, func() { p.Give(p.Take(1000)) }))
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	var p Pool
	for range 3 * perClass {
		p.Give(make([]byte, 0, 4096))
		p.Give(make([]byte, 0, 1<<20)) // too large to keep
		p.Give(make([]byte, 0, 5000))  // not one of ours
	}
	kept := 0
	for _, c := range p.free {
		kept += len(c)
	}
	assert.Equal(t, perClass, kept)
}

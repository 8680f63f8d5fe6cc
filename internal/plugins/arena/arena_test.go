package arena

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNew(t *testing.T) {
	for _, n := range []int{0, PieceMin / 2, 3 * PieceMin} {
		_, err := New(make([]byte, n))
		assert.Error(t, err, n)
	}
}

// TestModel allocates and frees at random: no two pieces share a byte, and in the end all are
// joined again.
func TestModel(t *testing.T) {
	const total = 64 * PieceMin
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		a, err := New(make([]byte, total))
		require.NoError(t, err)
		var out [][]byte
		refused := 0
		for range 3000 {
			if rng.IntN(2) == 0 {
				size := 1 + rng.IntN(total/(1<<rng.IntN(8)))
				mem, ok := a.Alloc(size)
				if !ok {
					refused++
					require.NotEmpty(t, out)
					continue
				}
				require.Len(t, mem, size)
				var all byte
				for i := range mem {
					all |= mem[i]
					mem[i] = 1
				}
				require.Zero(t, all, "a byte is somebody else's, seed %d", seed)
				out = append(out, mem)
			} else if len(out) > 0 {
				i := rng.IntN(len(out))
				clear(out[i])
				require.True(t, a.Free(out[i]))
				require.False(t, a.Free(out[i]), "twice")
				out[i] = out[len(out)-1]
				out = out[:len(out)-1]
			}
			require.Equal(t, len(out), a.Used())
		}
		require.NotZero(t, refused)
		for _, mem := range out {
			require.True(t, a.Free(mem))
		}
		_, ok := a.Alloc(total)
		require.True(t, ok, "seed %d", seed)
	}
}

// TestHalves: allocations in one half leave room in the other half for a piece of its full size. In
// the end both halves are joined again.
func TestHalves(t *testing.T) {
	const total = 64 * PieceMin
	a, err := New(make([]byte, total))
	require.NoError(t, err)
	for half, other := range map[Half]Half{Lower: Upper, Upper: Lower} {
		var out [][]byte
		for {
			mem, ok := a.AllocIn(half, 1)
			if !ok {
				break
			}
			off, _ := a.Offset(mem)
			require.Equal(t, half, Half(2*off/total))
			out = append(out, mem)
		}
		require.Len(t, out, 32)
		mem, ok := a.AllocIn(other, total/2)
		require.True(t, ok)
		_, ok = a.Alloc(1)
		require.False(t, ok)
		require.True(t, a.Free(mem))
		mem, ok = a.Alloc(total / 2)
		require.True(t, ok, "who does not mind takes either")
		for _, mem := range append(out, mem) {
			require.True(t, a.Free(mem))
		}
	}
	_, ok := a.AllocIn(Lower, total/2+1)
	require.False(t, ok)
	whole, ok := a.Alloc(total)
	require.True(t, ok)
	_, ok = a.AllocIn(Upper, 1)
	require.False(t, ok)
	require.True(t, a.Free(whole))

	page, err := New(make([]byte, PieceMin))
	require.NoError(t, err)
	_, ok = page.AllocIn(Lower, 1)
	require.False(t, ok, "a page has no halves")
	_, ok = page.Alloc(1)
	require.True(t, ok)
}

func TestWhatIsNotThere(t *testing.T) {
	a, err := New(make([]byte, 4*PieceMin))
	require.NoError(t, err)
	for _, size := range []int{0, -1, 4*PieceMin + 1} {
		_, ok := a.Alloc(size)
		assert.False(t, ok, size)
	}
	mem, ok := a.Alloc(100)
	require.True(t, ok)
	off, ok := a.Offset(mem[10:20])
	assert.True(t, ok)
	first, _ := a.Offset(mem)
	assert.Equal(t, first+10, off)
	assert.False(t, a.Free(mem[10:]))
	for name, b := range map[string][]byte{"nil": nil, "empty": mem[:0], "another's": make([]byte, 8)} {
		_, ok := a.Offset(b)
		assert.False(t, ok, name)
		assert.False(t, a.Free(b), name)
	}
}

// TestTheLatestFirst: the piece that was freed last is allocated first.
func TestTheLatestFirst(t *testing.T) {
	a, err := New(make([]byte, 64*PieceMin))
	require.NoError(t, err)
	var out [8][]byte
	for i := range out {
		var ok bool
		out[i], ok = a.Alloc(PieceMin)
		require.True(t, ok)
		off, _ := a.Offset(out[i])
		require.Equal(t, i*PieceMin, off, "pieces are given out from the beginning")
	}
	for _, i := range []int{6, 0, 4} { // their buddies stay allocated, so nothing is joined
		require.True(t, a.Free(out[i]))
	}
	for _, i := range []int{4, 0, 6} {
		mem, ok := a.Alloc(1)
		require.True(t, ok)
		off, _ := a.Offset(mem)
		assert.Equal(t, i*PieceMin, off)
	}
}

// TestUsedBytes: pieces count with their full size.
func TestUsedBytes(t *testing.T) {
	a, err := New(make([]byte, 64*PieceMin))
	require.NoError(t, err)
	assert.Equal(t, 64*PieceMin, a.Size())
	mem, ok := a.Alloc(2*PieceMin + 1)
	require.True(t, ok)
	assert.Equal(t, 4*PieceMin, a.UsedBytes())
	require.True(t, a.Free(mem))
	assert.Zero(t, a.UsedBytes())
}

// TestLongerThanTheArena: memory that covers more than the arena does not lie in it.
func TestLongerThanTheArena(t *testing.T) {
	around := make([]byte, 4*PieceMin)
	a, err := New(around[PieceMin : 2*PieceMin])
	require.NoError(t, err)
	for _, b := range [][]byte{around, around[PieceMin:], around[PieceMin-1 : 2*PieceMin], around[2*PieceMin-1 : 2*PieceMin+1], around[:1], around[2*PieceMin:]} {
		_, ok := a.Offset(b)
		assert.False(t, ok)
	}
}

func TestNoAllocations(t *testing.T) {
	a, err := New(make([]byte, 256*PieceMin))
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(1000, func() { cycle(t, a) }))
}

// cycle allocates some pieces and frees some, in another order.
func cycle(t testing.TB, a *Arena) {
	var out [8][]byte
	for i := range out {
		var ok bool
		if out[i], ok = a.Alloc(1 << (10 + i)); !ok {
			t.Fatal("full")
		}
	}
	for i := range out {
		if !a.Free(out[i*3%len(out)]) {
			t.Fatal("refused")
		}
	}
}

// BenchmarkOne allocates one piece in an empty arena, which is divided all the way down and joined
// again: the worst case.
func BenchmarkOne(b *testing.B) {
	a, err := New(make([]byte, 64<<20))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		mem, _ := a.Alloc(64 << 10)
		a.Free(mem)
	}
}

func BenchmarkSome(b *testing.B) {
	a, err := New(make([]byte, 64<<20))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		cycle(b, a)
	}
}

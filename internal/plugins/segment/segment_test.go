//go:build linux

package segment

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
)

const (
	ringSize  = 64 << 10
	arenaSize = 1 << 20
)

func makeRings(t *testing.T) (a, b *Rings, fd int) {
	a, fd, err := CreateRings(ringSize)
	require.NoError(t, err)
	b, err = MapRings(fd)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
		require.NoError(t, unix.Close(fd))
	})
	return a, b, fd
}

func makeArena(t *testing.T) (a, b *Arena, fd int) {
	a, fd, err := CreateArena(arenaSize)
	require.NoError(t, err)
	b, err = MapArena(fd)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
		require.NoError(t, unix.Close(fd))
	})
	return a, b, fd
}

// TestRings: data written on one side is read on the other, in each direction, and the two
// directions share nothing.
func TestRings(t *testing.T) {
	a, b, _ := makeRings(t)
	assert.Equal(t, "vidtpl", string(a.mem[:6]))
	for text, mem := range map[string][2][]byte{"there": {a.ToPlugin, b.ToPlugin}, "back": {b.ToProgram, a.ToProgram}} {
		w, err := ring.NewWriter(mem[0])
		require.NoError(t, err)
		r, err := ring.NewReader(mem[1])
		require.NoError(t, err)
		room, ok, err := w.Reserve(len(text))
		require.NoError(t, err)
		require.True(t, ok)
		copy(room, text)
		w.Commit()
		got, ok, err := r.Next()
		require.NoError(t, err)
		require.True(t, ok)
		assert.Equal(t, text, string(got))
	}
}

func TestArena(t *testing.T) {
	a, b, _ := makeArena(t)
	assert.Len(t, a.Mem, arenaSize)
	assert.Equal(t, arenaSize, cap(a.Mem))
	a.Mem[arenaSize-1], a.Mem[0] = 7, 8
	assert.EqualValues(t, 7, b.Mem[arenaSize-1])
	assert.EqualValues(t, 8, b.Mem[0])
	assert.Equal(t, "vidtpl", string(b.all[:6]), "the arena begins behind the first page")
}

// TestNobodyMakesItShorter: that would kill the process that uses the missing part.
func TestNobodyMakesItShorter(t *testing.T) {
	_, _, rings := makeRings(t)
	_, _, arena := makeArena(t)
	for name, fd := range map[string]int{"rings": rings, "arena": arena} {
		assert.ErrorIs(t, unix.Ftruncate(fd, 0), unix.EPERM, name)
		assert.ErrorIs(t, unix.Ftruncate(fd, 1<<31), unix.EPERM, name)
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
		assert.ErrorIs(t, err, unix.EPERM, name)
	}
}

func TestSizesThatCannotBe(t *testing.T) {
	for _, n := range []int{-1, 0, ring.DataMin / 2, ringSize + 1, 3 * ringSize, 2 * ring.DataMax} {
		_, _, err := CreateRings(n)
		assert.ErrorIs(t, err, ErrInvalid, n)
	}
	for _, n := range []int{-1, 0, ArenaMin / 2, arenaSize + 1, 3 * arenaSize, 2 * ArenaMax} {
		_, _, err := CreateArena(n)
		assert.ErrorIs(t, err, ErrInvalid, n)
	}
}

// memfd makes a file as another program would.
func memfd(t *testing.T, size int, sealed bool, head []byte) int {
	fd, err := unix.MemfdCreate("x", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	require.NoError(t, unix.Ftruncate(fd, int64(size)))
	_, err = unix.Pwrite(fd, head, 0)
	require.NoError(t, err)
	if sealed {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		require.NoError(t, err)
	}
	return fd
}

// TestDescriptorsThatAreNone: only files that Create made are mapped, and only as their own kind.
func TestDescriptorsThatAreNone(t *testing.T) {
	rings, _, ringsFD := makeRings(t)
	arena, _, arenaFD := makeArena(t)
	for name, c := range map[string]struct {
		head  []byte
		size  int // of the file
		other int // a descriptor of the other kind
		open  func(fd int) (interface{ Close() error }, error)
	}{
		"rings": {rings.mem[:headBytes], kindRings.total(ringSize), arenaFD, func(fd int) (interface{ Close() error }, error) { return MapRings(fd) }},
		"arena": {arena.all[:headBytes], kindArena.total(arenaSize), ringsFD, func(fd int) (interface{ Close() error }, error) { return MapArena(fd) }},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(word int, v uint64) int {
				head := append([]byte{}, c.head...)
				binary.LittleEndian.PutUint64(head[8*word:], v)
				return memfd(t, c.size, true, head)
			}
			right, err := c.open(memfd(t, c.size, true, c.head))
			require.NoError(t, err)
			require.NoError(t, right.Close())
			for name, fd := range map[string]int{
				"none": -1, "the other kind": c.other, "not sealed": memfd(t, c.size, false, c.head), "empty": memfd(t, 0, true, nil),
				"short": memfd(t, c.size-1, true, c.head), "long": memfd(t, c.size+1, true, c.head),
				"magic": with(0, 0), "version": with(1, 9), "kind": with(2, 3),
				"no size": with(3, 0), "no power of two": with(3, 65<<10), "large": with(3, 1<<50), "negative": with(3, 1<<63), "another size": with(3, 128<<10),
			} {
				_, err := c.open(fd)
				assert.ErrorIs(t, err, ErrInvalid, name)
			}
		})
	}
}

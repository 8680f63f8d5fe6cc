package host_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/internal/race"
)

// TestNoAllocations: a message allocates nothing between its post and its end, on either side,
// however it travels.
func TestNoAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, size := range []int{0, 8, 4096, 64 << 10} {
		p := newPair(t)
		recvs, sends := p.ops(4, size)
		p.messages(recvs, sends)
		require.Zero(t, testing.AllocsPerRun(1000, func() { p.messages(recvs, sends) }), "%d bytes", size)
	}
	l := newLiar(t)
	l.says(wire.Head{Kind: wire.KindStranger, Flags: wire.FlagText, Peer: stranger + 1}, []byte("x://y"))
	h, data := wire.Head{Kind: wire.KindArrived, Flags: wire.FlagMessage, Peer: stranger + 1, Size: 8}, make([]byte, 8)
	l.says(h, data)
	require.Zero(t, testing.AllocsPerRun(1000, func() { l.says(h, data) }), "unexpected messages")
	require.Greater(t, l.program.arrived, 1000)
}

// TestAllocWithoutPlugin: memory is allocated and freed with and without a plugin, and is shared
// with the next one.
func TestAllocWithoutPlugin(t *testing.T) {
	p := newPair(t)
	before, err := p.method.Alloc(100)
	require.NoError(t, err)
	p.method.Detach(errors.New("it died"))
	during, err := p.method.Alloc(100)
	require.NoError(t, err)
	for _, mem := range [][]byte{before, during} {
		_, ok := p.arena.Offset(mem)
		require.True(t, ok)
	}
	copy(before, "hello")
	send, recv := p.op(bmi.KindSend, before), p.op(bmi.KindRecv, during)
	p.post(recv)
	p.post(send)
	p.attach()
	for p.over < 2 {
		p.step()
	}
	require.NoError(t, p.err)
	require.Equal(t, "hello", string(during[:5]))
	require.NoError(t, p.method.Free(before))
	p.method.Detach(errors.New("it died, too"))
	require.ErrorIs(t, p.method.Free(during[1:]), bmi.ErrInvalid)
	require.NoError(t, p.method.Free(during))
	require.ErrorIs(t, p.method.Free(during), bmi.ErrInvalid, "twice")
	require.Zero(t, p.arena.Used())
	_, err = p.method.Alloc(-1)
	require.ErrorIs(t, err, bmi.ErrInvalid)
}

// TestCopiesComeBack: the copy of an operation that ends while there is no plugin is freed.
func TestCopiesComeBack(t *testing.T) {
	l := newLiar(t)
	var latest *bmi.Op
	for !l.method.Unsaid() { // the plugin reads nothing
		latest = l.op(bmi.KindRecv, make([]byte, 8))
		l.post(latest)
	}
	l.method.Cancel(latest)
	require.False(t, l.method.Unsaid())
	large := l.op(bmi.KindSend, make([]byte, 64<<10))
	l.post(large)
	require.True(t, l.method.Unsaid())
	require.Equal(t, 1, l.arena.Used())
	l.method.Detach(errors.New("it died"))
	l.method.Cancel(large)
	require.ErrorIs(t, l.err, bmi.ErrCancelled)
	require.Zero(t, l.method.Pending())
	require.Zero(t, l.arena.Used())
}

// TestFullArena: an operation that needs a copy waits for others that have one, but not for memory
// that only the user can free.
func TestFullArena(t *testing.T) {
	p := newPair(t)
	mem, err := p.method.Alloc(pairArena)
	require.NoError(t, err)
	more, err := p.method.Alloc(100)
	require.NoError(t, err)
	_, ok := p.arena.Offset(more)
	require.False(t, ok, "what is not shared is of use all the same")
	p.post(p.op(bmi.KindSend, make([]byte, 64<<10)))
	require.Equal(t, 1, p.over)
	require.ErrorIs(t, p.err, bmi.ErrTooLarge)
	require.ErrorContains(t, p.err, "65536 bytes, with 1048576 of the 1048576 bytes in use that are shared with plugin mirror")
	require.NoError(t, p.method.Free(mem))
	require.NoError(t, p.method.Free(more))

	sends := make([]*bmi.Op, 40) // more than there is room for at once
	for i := range sends {
		sends[i] = p.op(bmi.KindSend, make([]byte, 64<<10))
		p.post(sends[i])
	}
	require.True(t, p.method.Unsaid())
	for p.over < 1+len(sends) {
		p.step()
	}
	require.NoError(t, p.err)
	require.Zero(t, p.arena.Used())
}

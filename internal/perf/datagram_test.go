package perf

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// barePair are two connected UDP sockets of this process.
func barePair(t *testing.T) (a, b *bareUDP, gone *atomic.Bool) {
	t.Helper()
	gone = new(atomic.Bool)
	one, err := openBareUDP(gone)
	require.NoError(t, err)
	t.Cleanup(one.close)
	two, err := openBareUDP(gone)
	require.NoError(t, err)
	t.Cleanup(two.close)
	require.NoError(t, one.connect(two.port))
	require.NoError(t, two.connect(one.port))
	return &one, &two, gone
}

func TestUDPPiecesAreAllButEqual(t *testing.T) {
	for size, want := range map[int][2]int{
		1: {1, 1}, 8: {1, 8}, udpPieceMax: {1, udpPieceMax}, udpPieceMax + 1: {2, udpPieceMax/2 + 1},
		64 << 10: {2, 32 << 10}, 1 << 20: {17, 61681},
	} {
		n, each := udpPieces(size)
		assert.Equal(t, want, [2]int{n, each}, size)
	}
}

// Every number of pieces up to a few windows, so that every end of the exchange of
// acknowledgements occurs; the answers show that none is left over.
func TestBareUDPLosesNothing(t *testing.T) {
	a, b, _ := barePair(t)
	for pieces := 1; pieces <= 5*udpWindow; pieces++ {
		size := pieces * udpPieceMax
		out, in := make([]byte, size), make([]byte, size)
		for i := range out {
			out[i] = byte(i ^ i>>8 ^ pieces)
		}
		sent := make(chan error, 1)
		for _, way := range [][2]*bareUDP{{a, b}, {b, a}} {
			go func() { sent <- way[0].send(out) }()
			require.NoError(t, way[1].recv(in))
			require.NoError(t, <-sent)
			require.True(t, string(out) == string(in), "%d pieces arrive as they were sent", pieces)
			clear(in)
		}
	}
}

// The least buffer that is accepted holds a window that is not read, also when it
// is emptied and filled by turns: nothing is dropped.
func TestTheLeastBufferHoldsAWindow(t *testing.T) {
	a, b, _ := barePair(t)
	require.NoError(t, unix.SetsockoptInt(b.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, udpRoomMin/2))
	room, err := unix.GetsockoptInt(b.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	require.NoError(t, err)
	require.Equal(t, udpRoomMin, room)
	out, in := make([]byte, udpPieceMax), make([]byte, udpPieceMax)
	sent, arrived := 0, 0
	for range 100 {
		for ; sent < arrived+udpWindow; sent++ {
			out[0] = byte(sent)
			require.NoError(t, a.send(out))
		}
		for range udpAckEvery {
			require.NoError(t, b.recv(in))
			require.Equal(t, byte(arrived), in[0])
			arrived++
		}
	}
}

func TestBareUDPNoticesWhatIsWrong(t *testing.T) {
	a, b, gone := barePair(t)
	require.NoError(t, a.send(make([]byte, 8)))
	require.ErrorContains(t, b.recv(make([]byte, 16)), "a datagram of 8 B where one of 16 was due")
	gone.Store(true)
	require.ErrorIs(t, b.recv(make([]byte, 8)), errSocketEnd)
}

func TestBareUDPMovesTheDataAndNoticesADeadFollower(t *testing.T) {
	l := openTestLimits(t, 0)
	const size = 1 << 20
	require.NoError(t, l.openDatagrams())
	l.datagrams.grow(size)
	d := &socketDuel{l: l, side: l.datagrams, verb: "reflect", size: size}
	require.NoError(t, d.begin(1000))
	clear(l.datagrams.in)
	require.NoError(t, d.step(1))
	for _, i := range []int{1, 255, size - 1} {
		assert.Equal(t, byte(i), l.datagrams.in[i], "the pattern of the other side's buffer")
	}
	require.NoError(t, l.child.cmd.Process.Kill())
	start := time.Now()
	require.ErrorIs(t, d.step(1<<30), errSocketEnd)
	wallclock.Under(t, time.Since(start), udpSilence, "the end, which the kernel or the pipe tells and not silence,")
	assert.Error(t, l.Close())
}

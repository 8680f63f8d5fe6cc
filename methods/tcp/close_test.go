package tcp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// TestCloseDuringADial: a dial that fails while Close waits for other connections
// has no effect.
func TestCloseDuringADial(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, _ := n.connected()
	f.undone = true
	n.stack.dial = func(s *fakeStream) error {
		s.connected = stack.ErrAgain
		return nil
	}
	to, err := n.Lookup(fakeScheme + "://10.0.0.9:1")
	require.NoError(t, err)
	p := n.send(to, 1, 10)
	require.NoError(t, n.ctx.Cancel(p.Op), "so that Close does not wait for it")
	_, ok := n.completion()
	require.True(t, ok)
	dialled := n.stack.dialled[0]
	dialled.connected = stack.ErrRefused
	dialled.tell(stack.Writable)
	require.NoError(t, n.Close())
	require.True(t, dialled.closed)
}

// TestCloseEndsWhileAPeerTalks: neither a peer that always sends more, nor a send
// that cannot be transmitted, prevents Close from ending.
func TestCloseEndsWhileAPeerTalks(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, to := n.connected()
	f.room = 10
	n.send(to, 1, 1000)

	require.NoError(t, n.Handle(0, func(bmi.Message) { n.now += 100 * time.Microsecond }))
	one, said := wire.Unexpected(1, 0).Append(nil), 0
	talker := n.connect()
	talker.more = func() []byte {
		require.Less(t, said, 1_000_000, "nobody ends this")
		said++
		return one
	}
	talker.tell(stack.Readable)
	begin := n.now
	require.NoError(t, n.Close())
	require.Less(t, n.now-begin, 3*tcp.CloseDrainMax)
}

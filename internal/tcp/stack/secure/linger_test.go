package secure

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// talkative is a stream that never runs out of bytes.
type talkative struct {
	stack.Stream
	t      *testing.T
	read   int
	closed bool
}

func (s *talkative) Recv(bufs [][]byte) (int, error) {
	require.Less(s.t, s.read, 1<<30, "nobody ends this")
	s.read += len(bufs[0])
	return len(bufs[0]), nil
}

func (s *talkative) Finish() error { return nil }
func (s *talkative) Close()        { s.closed = true }

// TestAFailedStreamIsNotReadForEver: its owner has other work.
func TestAFailedStreamIsNotReadForEver(t *testing.T) {
	_, server := pair(t, newNetwork(1), true)
	owner := server.stack.(*sleeper).Stack
	inner := &talkative{t: t}
	s := owner.newStream()
	s.inner, s.taken = inner, true
	s.fail(errors.New("it is not who it must be"))
	require.Equal(t, stateFailed, s.state)
	s.Close()
	require.True(t, inner.closed, "nor kept until it has been")
}

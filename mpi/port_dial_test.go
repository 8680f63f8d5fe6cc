package mpi

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// slowTimer is a context whose deadline has an effect on the network before it ends the context, as may
// happen on a busy machine.
type slowTimer struct {
	context.Context
	at time.Time
}

func (c slowTimer) Deadline() (time.Time, bool) { return c.at, true }

func (slowTimer) Done() <-chan struct{} { return make(chan struct{}) }

// TestConnectUntilTheDeadline: a connect that takes until the deadline of its context fails with the context's
// error, even if the context has not ended when the network notices.
func TestConnectUntilTheDeadline(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, unix.Listen(fd, 0))
	name, err := unix.Getsockname(fd)
	require.NoError(t, err)
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*unix.SockaddrInet4).Port))

	// One connection that is not accepted, and the listener answers no others.
	full, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer func() { require.NoError(t, full.Close()) }()
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
	require.NoError(t, err)

	port := portScheme + addr + "/" + strings.Repeat("0", 2*tokenBytes)
	_, _, err = reachPort(slowTimer{context.Background(), time.Now().Add(20 * time.Millisecond)}, port)
	require.Equal(t, context.DeadlineExceeded, err)
}

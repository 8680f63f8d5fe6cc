//go:build linux

package process

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestPass: descriptors arrive in order, for their session.
func TestPass(t *testing.T) {
	p := begin(t, as("plugin"))
	before := ask(t, p, "open")
	require.NoError(t, p.Pass(2, memfd(t, "third")))
	require.NoError(t, p.Pass(1, memfd(t, "first"), memfd(t, "second")))
	assert.Equal(t, "first (close on exec: true), second (close on exec: true)", ask(t, p, "descriptors=1"))
	assert.Equal(t, "third (close on exec: true)", ask(t, p, "descriptors=2"))
	assert.Equal(t, before, ask(t, p, "open"))
}

func TestPassLimits(t *testing.T) {
	p := begin(t, as("plugin"))
	fd := memfd(t, "x")
	many := make([]int, DescriptorsMax+1)
	for i := range many {
		many[i] = fd
	}
	assert.ErrorContains(t, p.Pass(1), "0 descriptors")
	assert.ErrorContains(t, p.Pass(1, many...), "9 descriptors")
	assert.ErrorIs(t, p.Pass(1, -1), unix.EBADF)
	require.NoError(t, p.Pass(1, many[1:]...))
	assert.Equal(t, DescriptorsMax, strings.Count(ask(t, p, "descriptors=1"), "close on exec: true"))
}

// pair returns both ends without a process.
func pair(t *testing.T) (*Process, *Inherited) {
	t.Helper()
	ours, theirs, err := socketPair()
	require.NoError(t, err)
	p := &Process{cfg: Config{Name: "test"}, socket: ours, done: make(chan struct{})}
	fd, err := unix.Dup(int(theirs.Fd()))
	require.NoError(t, err)
	require.NoError(t, theirs.Close())
	socket, err := connOf(fd)
	require.NoError(t, err)
	i := &Inherited{socket: socket, news: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- i.receive() }()
	t.Cleanup(func() {
		require.NoError(t, ours.Close())
		assert.Error(t, <-ended)
		require.NoError(t, socket.Close())
		for _, w := range i.waiting {
			closeFDs(w.fds)
		}
	})
	return p, i
}

// TestDescriptorsWait: descriptors may arrive later, or never.
func TestDescriptorsWait(t *testing.T) {
	p, i := pair(t)
	got := make(chan []int)
	go func() {
		fds, err := i.Descriptors(t.Context(), 7)
		assert.NoError(t, err)
		got <- fds
	}()
	require.NoError(t, p.Pass(6, memfd(t, "other")))
	require.NoError(t, p.Pass(7, memfd(t, "right")))
	assert.Equal(t, "right (close on exec: true)", readAll(<-got))

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := i.Descriptors(ctx, 7)
	assert.ErrorIs(t, err, context.DeadlineExceeded, "they are taken once")
	_, err = (*Inherited)(nil).Descriptors(ctx, 7)
	assert.ErrorContains(t, err, "passes no descriptors")
}

// TestUnexpectedDescriptors: unrequested descriptors are closed, and only a limited number is kept.
func TestUnexpectedDescriptors(t *testing.T) {
	p, i := pair(t)
	fd := memfd(t, "x")
	before := copies(t, fd)
	eight := make([]int, DescriptorsMax+1)
	for k := range eight {
		eight[k] = fd
	}
	send := func(message []byte, fds ...int) {
		_, _, err := p.socket.WriteMsgUnix(message, unix.UnixRights(fds...), nil)
		require.NoError(t, err)
	}
	number := binary.LittleEndian.AppendUint64(nil, 1)
	send(number[:7], fd)             // short
	send(append(number, 0), fd)      // long
	send(make([]byte, 4<<10), fd)    // very long
	send(number, eight...)           // one descriptor too many
	_, err := p.socket.Write(number) // none
	require.NoError(t, err)
	const latest = 2*sessionsMax - 1
	for session := range uint64(latest) {
		require.NoError(t, p.Pass(session, fd))
		require.NoError(t, p.Pass(session, fd)) // a second time
	}
	require.NoError(t, p.Pass(latest, fd)) // once; after it all earlier messages have arrived
	last, err := i.Descriptors(t.Context(), latest)
	require.NoError(t, err)
	closeFDs(last)
	first, _ := i.take(sessionsMax - 1)
	assert.Nil(t, first, "the oldest are given up")
	next, _ := i.take(sessionsMax)
	assert.Len(t, next, 1)
	closeFDs(next)
	assert.Equal(t, before+sessionsMax-2, copies(t, fd))
}

// copies is how many descriptors of this process are of the file of fd.
func copies(t *testing.T, fd int) (n int) {
	t.Helper()
	file, err := os.Stat(fmt.Sprintf("/proc/self/fd/%d", fd))
	require.NoError(t, err)
	for _, name := range files(t, "/proc/self/fd") {
		if other, err := os.Stat("/proc/self/fd/" + name); err == nil && os.SameFile(file, other) {
			n++
		}
	}
	return n
}

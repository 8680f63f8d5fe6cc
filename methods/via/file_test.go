package via_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/nic/shm"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

// TestFilesWithoutRDMA sends files where the kernel forbids the sides to reach into each other's
// memory: what is large goes in DATA packets.
func TestFilesWithoutRDMA(t *testing.T) {
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	t.Setenv(shm.NoCMAEnv, "1")
	var files methodtest.Tests
	for _, test := range methodtest.All {
		if strings.HasPrefix(test.Name, "File") {
			files = append(files, test)
		}
	}
	require.NotEmpty(t, files)
	methodtest.RunTests(t, files, func(methodtest.T) *methodtest.Subject {
		return &methodtest.Subject{Address: func(name string) string { return "via+shm://" + name }}
	})
}

// selfEnd is an endpoint that talks to itself.
type selfEnd struct {
	t    *testing.T
	ctx  *bmi.Context
	addr bmi.Addr
}

func newSelfEnd(t *testing.T) *selfEnd {
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	e, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{"via+shm://self"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	s := &selfEnd{t: t}
	s.ctx, err = e.OpenContext()
	require.NoError(t, err)
	s.addr, err = e.Lookup("via+shm://self")
	require.NoError(t, err)
	return s
}

// exchange posts a send from a file and a receive, in either order, and gives how both ended.
func (s *selfEnd) exchange(part bmi.FileRange, recvFirst bool, bufs ...[]byte) (sent, received bmi.Completion) {
	s.t.Helper()
	pending := 0
	note := func(c *bmi.Completion, p bmi.Posted, err error) {
		require.NoError(s.t, err)
		if p.Done {
			c.Size = p.Size
		} else {
			pending++
		}
	}
	send := func() {
		p, err := s.ctx.PostSendFile(s.addr, 1, part, &sent)
		note(&sent, p, err)
	}
	recv := func() {
		p, err := s.ctx.PostRecvList(s.addr, 1, bufs, &received)
		note(&received, p, err)
	}
	if recvFirst {
		recv()
		send()
	} else {
		send()
		recv()
	}
	var out [2]bmi.Completion
	for pending > 0 {
		n, err := s.ctx.TestContext(out[:], time.Minute)
		require.NoError(s.t, err)
		require.NotZero(s.t, n, "an operation hangs")
		for _, c := range out[:n] {
			*c.User.(*bmi.Completion) = c
			pending--
		}
	}
	return sent, received
}

// TestFileToOneself sends files from an endpoint to itself, which takes no link.
func TestFileToOneself(t *testing.T) {
	s := newSelfEnd(t)
	data := make([]byte, 100_000)
	for i := range data {
		data[i] = byte(1 + i%251)
	}
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	file, err := os.Open(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	locked, err := os.OpenFile(name, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, locked.Close()) }()
	for _, recvFirst := range []bool{true, false} {
		for _, c := range []struct {
			off  int64
			size int
		}{{0, 100}, {3, 70_000}, {99_000, 5000}, {200_000, 10}} {
			first, second, third := make([]byte, c.size/3), make([]byte, c.size/3), make([]byte, c.size)
			sent, received := s.exchange(bmi.FileRange{File: file, Off: c.off, Len: c.size}, recvFirst, first, second, third)
			require.NoError(t, sent.Err)
			require.NoError(t, received.Err)
			require.Equal(t, c.size, received.Size)
			want := make([]byte, c.size)
			copy(want, data[min(c.off, int64(len(data))):])
			require.True(t, bytes.Equal(want, bytes.Join([][]byte{first, second, third}, nil)[:c.size]), "%+v", c)
		}
		sent, received := s.exchange(bmi.FileRange{File: file, Len: 1000}, recvFirst, make([]byte, 999))
		require.NoError(t, sent.Err)
		require.ErrorIs(t, received.Err, bmi.ErrTruncated)
		sent, received = s.exchange(bmi.FileRange{File: locked, Len: 1000}, recvFirst, make([]byte, 1000))
		require.ErrorIs(t, sent.Err, bmi.ErrPeerFailed)
		require.ErrorIs(t, received.Err, bmi.ErrPeerFailed)
	}
}

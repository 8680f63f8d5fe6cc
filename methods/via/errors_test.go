package via_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/ops"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via"
)

func openSHM(t testing.TB, name string, opts via.Options) (*bmi.Endpoint, *bmi.Context) {
	t.Helper()
	cfg := bmi.Config{Methods: []string{"via+shm"}, Options: map[string]any{"via+shm": opts}}
	if name != "" {
		cfg.Listen = []string{"via+shm://" + name}
	}
	e, err := bmi.Open(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close()) })
	c, err := e.OpenContext()
	require.NoError(t, err)
	return e, c
}

// bounded is a context that ends long after what is tested should.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), wallclock.Patience)
	t.Cleanup(cancel)
	return ctx
}

// TestErrors: each way to go wrong has an error of its own kind, whose text says
// what it is about and what to do.
func TestErrors(t *testing.T) {
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	a, ca := openSHM(t, "a", via.Options{})
	b, cb := openSHM(t, "b", via.Options{})
	toB, err := a.Lookup("via+shm://b")
	require.NoError(t, err)
	toA, err := b.Lookup("via+shm://a")
	require.NoError(t, err)

	t.Run("address without a name", func(t *testing.T) {
		_, err := a.Lookup("via+shm://")
		require.ErrorIs(t, err, bmi.ErrBadAddress)
	})
	t.Run("unknown method", func(t *testing.T) {
		_, err := a.Lookup("via+smh://b")
		require.ErrorIs(t, err, bmi.ErrUnknownMethod)
		require.ErrorContains(t, err, "via+shm", "says what there is")
	})
	t.Run("nobody there", func(t *testing.T) {
		to, err := a.Lookup("via+shm://nobody")
		require.NoError(t, err)
		err = ca.Send(bounded(t), to, 1, []byte("x"))
		require.ErrorIs(t, err, bmi.ErrUnreachable)
		require.ErrorContains(t, err, "via+shm://nobody")
		require.ErrorContains(t, err, "check the address")
	})
	t.Run("name taken", func(t *testing.T) {
		_, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{"via+shm://a"}})
		require.ErrorIs(t, err, bmi.ErrNameTaken)
		require.ErrorContains(t, err, "choose another")
	})
	t.Run("another version", func(t *testing.T) {
		c, cc := openSHM(t, "c", via.Options{Version: 99})
		toC, err := a.Lookup("via+shm://c")
		require.NoError(t, err)
		err = ca.Send(bounded(t), toC, 1, []byte("x"))
		require.ErrorIs(t, err, bmi.ErrVersion)
		require.ErrorContains(t, err, "same release")
		fromA, err := c.Lookup("via+shm://a")
		require.NoError(t, err)
		err = cc.Send(bounded(t), fromA, 1, []byte("x"))
		require.ErrorIs(t, err, bmi.ErrVersion)
		require.NotZero(t, a.Stats().Methods[0].Errors.Version)
	})
	t.Run("buffer too small", func(t *testing.T) {
		errs := make(chan error, 1)
		go func() { errs <- ca.Send(bounded(t), toB, 2, make([]byte, 100)) }()
		n, err := cb.Recv(bounded(t), toA, 2, make([]byte, 10))
		require.ErrorIs(t, err, bmi.ErrTruncated)
		require.Equal(t, 100, n, "the size that would have fitted")
		require.NoError(t, <-errs)
	})
	t.Run("over the limit", func(t *testing.T) {
		_, err := ca.PostSendUnexpected(toB, 0, 1, make([]byte, ops.EagerBytesMax+1), nil)
		require.ErrorIs(t, err, bmi.ErrTooLarge)
		require.ErrorContains(t, err, "16384")
	})
	t.Run("wrong options", func(t *testing.T) {
		_, err := bmi.Open(context.Background(), bmi.Config{
			Methods: []string{"via+shm"}, Options: map[string]any{"via+shm": 7},
		})
		require.ErrorIs(t, err, bmi.ErrInvalid)
		require.ErrorContains(t, err, "via.Options")
	})
	t.Run("options out of range", func(t *testing.T) {
		for says, opts := range map[string]via.Options{
			"-1 credits, want ":              {Credits: -1},
			"eager messages of -1 bytes":     {EagerBytes: -1},
			"eager messages of 16385 bytes,": {EagerBytes: ops.EagerBytesMax + 1},
		} {
			_, err := bmi.Open(context.Background(), bmi.Config{Methods: []string{"via+shm"}, Options: map[string]any{"via+shm": opts}})
			require.ErrorIs(t, err, bmi.ErrInvalid)
			require.ErrorContains(t, err, says)
		}
	})
	t.Run("names to listen at", func(t *testing.T) {
		_, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{"via+shm://x", "via+shm://y"}})
		require.ErrorIs(t, err, bmi.ErrInvalid)
		require.ErrorContains(t, err, "2 addresses to listen on, a NIC has one name")
		_, err = bmi.Open(context.Background(), bmi.Config{Listen: []string{"via+shm://a/b"}})
		require.ErrorContains(t, err, "use 1 to 64 letters, digits, dots, underscores and dashes")
	})
	t.Run("dropped", func(t *testing.T) {
		to, err := a.Lookup("via+shm://forgotten")
		require.NoError(t, err)
		require.NoError(t, a.CheckAddr(to))
		require.NoError(t, a.DropAddr(to))
		require.ErrorIs(t, a.CheckAddr(to), bmi.ErrDropped)
		_, err = ca.PostSend(to, 1, nil, nil)
		require.ErrorIs(t, err, bmi.ErrDropped)
	})
	t.Run("directory open to others", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o777))
		t.Setenv("VIADUCT_SHM_DIR", dir)
		_, err := bmi.Open(context.Background(), bmi.Config{Methods: []string{"via+shm"}})
		require.ErrorIs(t, err, os.ErrPermission)
		require.ErrorContains(t, err, "VIADUCT_SHM_DIR", "says what to set")
	})
}

// TestOutOfDescriptors: a connection that gets no descriptors fails with an
// error that says so, and works once there are some.
func TestOutOfDescriptors(t *testing.T) {
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	a, ca := openSHM(t, "a", via.Options{ConnectTimeout: 300 * time.Millisecond})
	_, _ = openSHM(t, "b", via.Options{})
	toB, err := a.Lookup("via+shm://b")
	require.NoError(t, err)

	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	restore := func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) }
	defer restore()
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: was.Max}))
	err = ca.Send(bounded(t), toB, 1, []byte("x"))
	require.Error(t, err)
	require.ErrorContains(t, err, "ulimit -n")
	restore()
	require.NoError(t, ca.Send(bounded(t), toB, 1, []byte("x")))
}

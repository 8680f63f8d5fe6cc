package mpi_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// briefly returns a context for calls that must end by themselves.
func briefly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), wallclock.Patience)
	t.Cleanup(cancel)
	return ctx
}

// crowd checks that an inter-communicator works: every process of one group gets a message from
// every process of the other.
func crowd(t *testing.T, inter *mpi.Comm, size, remote int) {
	t.Helper()
	require.Equal(t, size, inter.Size())
	require.Equal(t, remote, inter.RemoteGroup().Size())
	got := make([]int, remote)
	require.NoError(t, inter.Allgather(bg, mpi.Slice([]int{10 * inter.Rank()}), mpi.Slice(got)))
	for r, x := range got {
		assert.Equal(t, 10*r, x)
	}
	merged, err := inter.Merge(bg, size > remote)
	require.NoError(t, err)
	talk(t, merged)
	require.NoError(t, merged.Free())
}

// TestConnect: two jobs meet at a port, merge and part, three times.
func TestConnect(t *testing.T) {
	mpitest.Over(t, []string{"mem", "via+shm", "tcp"}, func(t *testing.T, o mpitest.Options) {
		ctx := briefly(t)
		port := make(chan string, 1)
		var jobs sync.WaitGroup
		jobs.Go(func() {
			mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
				name := ""
				if p.World().Rank() == 1 {
					var err error
					name, err = p.OpenPort(ctx, nil)
					require.NoError(t, err)
					port <- name
				}
				for range 3 {
					inter, err := p.World().Accept(ctx, name, 1)
					require.NoError(t, err)
					crowd(t, inter, 2, 3)
					require.NoError(t, inter.Disconnect(bg))
				}
				if name != "" {
					require.NoError(t, p.ClosePort(name))
					assert.ErrorIs(t, p.ClosePort(name), mpi.ErrPort)
				}
			})
		})
		jobs.Go(func() {
			mpitest.Run(t, 3, o, func(t *testing.T, p *mpi.Process) {
				name := ""
				if p.World().Rank() == 0 {
					name = <-port
				}
				for range 3 {
					inter, err := p.World().Connect(ctx, name, 0)
					require.NoError(t, err)
					crowd(t, inter, 3, 2)
					require.NoError(t, inter.Disconnect(bg))
				}
			})
		})
		jobs.Wait()
	})
}

// TestPortErrors: invalid names, names of unknown ports, and strangers that connect to a port.
func TestPortErrors(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, ctx := p.World(), briefly(t)
		refused := func(class mpi.ErrorClass, err error) {
			t.Helper()
			if w.Rank() == 0 {
				assert.ErrorIs(t, err, class)
			} else {
				assert.ErrorIs(t, err, mpi.ErrOther) // the root knows the reason
			}
		}
		_, err := w.Connect(ctx, "nonsense", 0)
		refused(mpi.ErrPort, err)
		_, err = w.Connect(ctx, "tcp://127.0.0.1:1/"+strings.Repeat("0", 32), 0)
		refused(mpi.ErrPort, err)
		_, err = w.Accept(ctx, "nonsense", 0)
		refused(mpi.ErrPort, err)
		_, err = w.Accept(ctx, "", 2)
		assert.ErrorIs(t, err, mpi.ErrRoot)
		_, _, err = w.Spawn(ctx, 0, mpi.Command{Program: "./x", N: 1})
		refused(mpi.ErrUnsupportedOperation, err)
		assert.Nil(t, p.Parent())
		assert.ErrorIs(t, p.PublishName(ctx, "s", "p"), mpi.ErrUnsupportedOperation)
		if w.Rank() == 0 {
			strangers(t, p, ctx)
		}
		talk(t, w)
	})
}

// strangers connect to a port and send nothing, nonsense, or a wrong token.
func strangers(t *testing.T, p *mpi.Process, ctx context.Context) {
	t.Helper()
	name, err := p.OpenPort(ctx, nil)
	require.NoError(t, err)
	address, _, _ := strings.Cut(strings.TrimPrefix(name, "tcp://"), "/")
	silent, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	for _, text := range []string{strings.Repeat("x", 100), "viaduct mpi port 1 " + strings.Repeat("0", 32) + "\n"} {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		_, err = conn.Write([]byte(text))
		require.NoError(t, err)
		_, err = conn.Read(make([]byte, 1)) // the port closes the connection
		assert.Error(t, err)
		assert.NoError(t, conn.Close())
	}
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = p.Self().Accept(soon, name, 0)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = p.Self().Connect(soon, name, 0)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	// The silent peer does not prevent ClosePort.
	require.NoError(t, p.ClosePort(name))
}

// TestJoin joins the two ends of a connection.
func TestJoin(t *testing.T) {
	a, b := net.Pipe()
	conns := make(chan net.Conn, 2)
	conns <- a
	conns <- b
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		conn := <-conns
		inter, err := p.Join(briefly(t), conn)
		require.NoError(t, err)
		crowd(t, inter, 1, 1)
		// The connection still works.
		done := make(chan error, 1)
		go func() {
			_, err := conn.Write([]byte{7})
			done <- err
		}()
		got := []byte{0}
		_, err = conn.Read(got)
		require.NoError(t, err)
		require.NoError(t, <-done)
		assert.Equal(t, byte(7), got[0])
		require.NoError(t, p.World().Barrier(bg))
		require.NoError(t, conn.Close())
		// A peer that sends nonsense.
		c, d := net.Pipe()
		go func() { _, _ = d.Write([]byte{255, 255, 255, 255, 255, 255, 255, 255}) }()
		_, err = p.Join(briefly(t), c)
		assert.ErrorIs(t, err, mpi.ErrOther)
		_ = d.Close()
		_, err = p.Join(briefly(t), c)
		assert.Error(t, err)
		_ = c.Close()
		_, err = p.Join(briefly(t), nil)
		assert.ErrorIs(t, err, mpi.ErrArg)
	})
}

package tool_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/file"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/mpi/tool"
)

// write changes a control variable.
func write(t *testing.T, i *tool.Interface, name string, value any) {
	t.Helper()
	c, err := i.Control(name)
	require.NoError(t, err)
	assert.Equal(t, tool.Local, c.Scope)
	require.NoError(t, c.Write(value))
	got, err := c.Read()
	require.NoError(t, err)
	assert.Equal(t, value, got)
}

// TestEagerLimit: the next message is sent by the new limit, to peers that are connected, too.
func TestEagerLimit(t *testing.T) {
	mpitest.Over(t, methods, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			connect(t, w)
			xs := make([]byte, 200)
			if w.Rank() == 1 {
				for range 3 {
					_, err := w.Recv(bg, mpi.Slice(xs), 0, 0)
					require.NoError(t, err)
				}
				return
			}
			i := open(t, p)
			v := newWatch(t, i)
			v.add(nil, "mpi.announced")
			require.NoError(t, v.Start())
			send := func(announced uint64) {
				require.NoError(t, w.Send(bg, mpi.Slice(xs), 1, 0))
				v.is(map[string]uint64{"mpi.announced": announced}, "")
			}
			send(0)
			write(t, i, "mpi.limits.eager_bytes_max", 199)
			send(1)
			write(t, i, "mpi.limits.eager_bytes_max", 200)
			send(1)
			c, err := i.Control("mpi.limits.eager_bytes_max")
			require.NoError(t, err)
			require.NoError(t, c.Write(0))
			n, err := tool.Value[int](c)
			require.NoError(t, err)
			assert.Equal(t, 8<<10, n, "the default")
		})
	})
}

// TestLateTime: a receive whose context ended waits for its message as long as the setting says: for
// ever at first, then not at all.
func TestLateTime(t *testing.T) {
	goOn := make(chan struct{})
	o := mpitest.Options{Leave: true, Each: func(rank int, o *mpi.Options) {
		o.Endpoint.Manual = rank == 1 // it does nothing by itself
		o.Limits.LateTimeMax = time.Hour
	}}
	mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
		defer mpitest.Kill(p)
		w, xs := p.World(), make([]byte, largeBytes)
		if w.Rank() == 1 {
			w.Isend(mpi.Slice(xs), 0, 0)
			within.Engine(w).Progress() // it announces the message, and stalls
			<-goOn
			return
		}
		defer close(goOn)
		_, err := w.Probe(bg, 1, 0)
		require.NoError(t, err)
		write(t, open(t, p), "mpi.limits.late_time_max", -time.Nanosecond)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_, err = w.Recv(ctx, mpi.Slice(xs), 1, 0)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestQueueLimits: the endpoint's queue takes as many messages as the setting says.
func TestQueueLimits(t *testing.T) {
	const class = 7 // without a handler
	alone(t, "mem", func(t *testing.T, p *mpi.Process, i *tool.Interface) {
		v := newWatch(t, i)
		v.add(nil, "bmi.queued_unexpected", "bmi.queued_unexpected_bytes", "bmi.refused_unexpected")
		write(t, i, "bmi.limits.unexpected_messages", 2)
		write(t, i, "bmi.limits.unexpected_bytes", 100)
		ep, err := bmi.Open(bg, bmi.Config{Methods: []string{bmitest.Name}})
		require.NoError(t, err)
		defer func() { require.NoError(t, ep.Close()) }()
		to, err := ep.Lookup(p.Endpoint().Addresses()[0])
		require.NoError(t, err)
		c, err := ep.OpenContext()
		require.NoError(t, err)
		for range 4 {
			_, err := c.PostSendUnexpected(to, class, 0, make([]byte, 10), nil)
			require.NoError(t, err)
		}
		queued := func(n uint64) {
			require.Eventually(t, func() bool {
				got, err := v.by["bmi.queued_unexpected"].Read()
				require.NoError(t, err)
				return got[0] == n
			}, wallclock.Patience, time.Millisecond)
		}
		queued(2)
		v.is(map[string]uint64{"bmi.queued_unexpected_bytes": 20}, "2 messages")
		write(t, i, "bmi.limits.unexpected_messages", 3)
		var out [1]bmi.Unexpected
		n, err := p.Endpoint().TestUnexpectedClass(class, out[:], 0)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		queued(3)
	})
}

// TestFixedControls: what cannot be changed says so, and how to set it.
func TestFixedControls(t *testing.T) {
	alone(t, "tcp", func(t *testing.T, p *mpi.Process, i *tool.Interface) {
		c, err := i.Control("mpi.method")
		require.NoError(t, err)
		err = c.Write("mem")
		require.ErrorIs(t, err, tool.ErrCvarSetNever)
		assert.ErrorContains(t, err, "set MPI_METHOD before")
		c, err = i.Control("bmi.spin_max")
		require.NoError(t, err)
		assert.ErrorIs(t, c.Write(5), tool.ErrInvalid, "an int is no duration")
		_, err = tool.Value[string](c)
		assert.ErrorIs(t, err, tool.ErrInvalid)
		c, err = i.Control("bmi.limits.unexpected_messages")
		require.NoError(t, err)
		assert.ErrorIs(t, c.Write(-1), tool.ErrInvalid)
		assert.ErrorIs(t, c.Write(0), bmi.ErrInvalid, "the cause is there")
		_, err = i.Control("mpi.nothing")
		assert.ErrorIs(t, err, tool.ErrInvalidName)
		_, err = tool.Control{}.Read()
		assert.ErrorIs(t, err, tool.ErrInvalidHandle)
	})
}

// TestFileControls: the environment that the next opening of a file reads.
func TestFileControls(t *testing.T) {
	t.Setenv("PVFS2TAB_FILE", "")
	alone(t, "mem", func(t *testing.T, p *mpi.Process, i *tool.Interface) {
		write(t, i, "mpi.file.pvfs2tab", "/nowhere/tab")
		_, err := file.Open(bg, p.Self(), "pvfs:/mnt/pvfs/a", file.ModeRdonly, nil)
		require.ErrorIs(t, err, mpi.ErrNoSuchFile)
		assert.ErrorContains(t, err, "/nowhere/tab")
	})
}

// TestAfterFinalize: the interface can still be used.
func TestAfterFinalize(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		i := open(t, p)
		s := i.Session()
		h, err := s.Handle("mpi.early", nil)
		require.NoError(t, err)
		require.NoError(t, p.Finalize(context.Background()))
		_, err = h.Read()
		require.NoError(t, err)
		_, err = i.Categories()
		require.NoError(t, err)
	})
}

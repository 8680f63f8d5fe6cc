package tool_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/mpi/tool"
)

// gather returns a channel of the events of a type.
func gather(t *testing.T, i *tool.Interface, name string) <-chan tool.Event {
	t.Helper()
	events := make(chan tool.Event, 16)
	_, err := i.Listen(name, tool.RequireNone, func(e tool.Event) { events <- e })
	require.NoError(t, err)
	return events
}

// TestConnectionsAndDeath: connections that begin and end are events, and so is the death of a process.
func TestConnectionsAndDeath(t *testing.T) {
	mpitest.Over(t, methods, func(t *testing.T, o mpitest.Options) {
		o.Leave = true
		m := make(meeting)
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			if w.Rank() == 1 {
				m.meet()
				connect(t, w)
				m.meet()
				mpitest.Kill(p)
				return
			}
			i := open(t, p)
			begun, known := gather(t, i, "bmi.connected"), gather(t, i, "mpi.connected")
			ended, gone := gather(t, i, "bmi.disconnected"), gather(t, i, "mpi.disconnected")
			failed := gather(t, i, "mpi.process_failed")
			sources, err := i.EventSources()
			require.NoError(t, err)
			before := sources[0].Now()
			m.meet()
			connect(t, w)
			e := <-begun
			assert.Equal(t, o.Method, e.Values[0])
			assert.NotEmpty(t, e.Values[1], "the address")
			e = <-known
			assert.Equal(t, 1, e.Values[1], "the rank")
			assert.Greater(t, e.At, before)
			assert.Less(t, e.At, sources[0].Now())
			m.meet()
			_, err = w.Recv(bg, mpi.Slice([]int{0}), 1, 9)
			require.ErrorIs(t, err, mpi.ErrProcFailed)
			e = <-failed
			assert.Equal(t, 1, e.Values[1], "the rank")
			assert.NotEmpty(t, e.Values[2], "the cause")
			assert.Equal(t, 1, (<-gone).Values[1], "the rank")
			assert.Equal(t, o.Method, (<-ended).Values[0])
			require.NoError(t, p.Finalize(bg))
		})
	})
}

// TestRevoke: a revoked communicator is an event, by its context.
func TestRevoke(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		i := open(t, p)
		revoked := gather(t, i, "mpi.revoked")
		c, err := p.World().Dup(bg)
		require.NoError(t, err)
		if p.World().Rank() == 0 {
			require.NoError(t, c.Revoke())
		} else {
			_, err := c.Recv(bg, mpi.Slice([]int{0}), 0, 0)
			require.ErrorIs(t, err, mpi.ErrRevoked)
		}
		e := <-revoked
		require.Len(t, e.Values, 1)
		assert.Positive(t, e.Values[0], "the context")
	})
}

// TestRefusedConnection: a stranger is refused, and an event says why.
func TestRefusedConnection(t *testing.T) {
	alone(t, "mem", func(t *testing.T, p *mpi.Process, i *tool.Interface) {
		refused := gather(t, i, "mpi.connection_refused")
		v := newWatch(t, i)
		v.add(nil, "mpi.refused")
		require.NoError(t, v.Start())
		ep, err := bmi.Open(bg, bmi.Config{Methods: []string{bmitest.Name}})
		require.NoError(t, err)
		defer func() { require.NoError(t, ep.Close()) }()
		to, err := ep.Lookup(p.Endpoint().Addresses()[0])
		require.NoError(t, err)
		c, err := ep.OpenContext()
		require.NoError(t, err)
		_, err = c.PostSendUnexpected(to, 0, bmi.Tag(wire.KindHello), []byte("let me in"), nil)
		require.NoError(t, err)
		assert.NotEmpty(t, (<-refused).Values[0], "the cause")
		v.is(map[string]uint64{"mpi.refused": 1}, "a stranger")
	})
}

// TestDroppedEvents: a callback that does not return costs events, and then learns how many.
func TestDroppedEvents(t *testing.T) {
	alone(t, "mem", func(t *testing.T, p *mpi.Process, i *tool.Interface) {
		const more = 1100 // 76 more than the queue has room for
		entered, goOn := make(chan struct{}, 1), make(chan struct{})
		var calls, dropped atomic.Int64
		l, err := i.Listen("mpi.message_kept", tool.RequireNone, func(tool.Event) {
			if calls.Add(1) == 1 {
				entered <- struct{}{}
				<-goOn
			}
			if calls.Load() == 1+1024 {
				entered <- struct{}{}
			}
		})
		require.NoError(t, err)
		l.OnDropped(func(n uint64) {
			assert.EqualValues(t, 1, calls.Load(), "before the next event")
			dropped.Add(int64(n))
		})
		keep(t, p.World(), 1)
		<-entered
		keep(t, p.World(), more)
		close(goOn)
		<-entered
		assert.EqualValues(t, more-1024, dropped.Load())
		take(t, p.World(), 1+more)
		<-l.Stop()
		keep(t, p.World(), 1)
		take(t, p.World(), 1)
		assert.EqualValues(t, 1+1024, calls.Load(), "it is stopped")
	})
}

// TestCallbacksAtOnce: a callback that is fit for it runs before the call that caused the event ends.
func TestCallbacksAtOnce(t *testing.T) {
	alone(t, "mem", func(t *testing.T, p *mpi.Process, i *tool.Interface) {
		for _, safety := range []tool.Safety{tool.Restricted, tool.ThreadSafe, tool.SignalSafe} {
			var calls atomic.Int64
			l, err := i.Listen("mpi.message_kept", safety, func(tool.Event) { calls.Add(1) })
			require.NoError(t, err)
			keep(t, p.World(), 1)
			assert.EqualValues(t, 1, calls.Load())
			<-l.Stop()
			keep(t, p.World(), 1)
			assert.EqualValues(t, 1, calls.Load())
			take(t, p.World(), 2)
		}
	})
}

package core_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A message of a process to itself stays where it is until it is received, even after a matched
// probe has taken it.
func TestToOneselfTakenByAProbe(t *testing.T) {
	probed := func(t *testing.T) (a *node, send core.Request, m *core.Message) {
		s := newStage(t)
		t.Cleanup(s.close)
		a = s.nodes[0]
		send, err := a.s.Isend(core.Synchronous, mem(10, 1), 0, 3)
		require.NoError(t, err)
		m, ok, err := a.s.Improbe(0, 3)
		require.NoError(t, err)
		require.True(t, ok)
		return a, send, m
	}
	// again is an operation that must work after any end of the first message.
	again := func(t *testing.T, a *node) {
		scope := a.scope(6, 0, a.all)
		require.Zero(t, a.e.Stats().Sending)
		for range 3 {
			in := room(10)
			_, err := scope.Isend(core.Synchronous, mem(10, 7), 0, 3)
			require.NoError(t, err)
			require.Equal(t, 1, a.e.Stats().Sending)
			_, err = scope.Recv(in, 0, 3)
			require.NoError(t, err)
			require.Equal(t, mem(10, 7), in)
			require.Zero(t, a.e.Stats().Sending)
		}
	}
	t.Run("cancelled", func(t *testing.T) {
		a, send, m := probed(t)
		require.NoError(t, send.Cancel())
		_, ok, _ := send.Test()
		require.False(t, ok, "it counts as received")
		in := room(10)
		_, err := m.Recv(context.Background(), in)
		require.NoError(t, err)
		assert.Equal(t, mem(10, 1), in)
		st, ok, err := send.Test()
		require.NoError(t, err)
		require.True(t, ok)
		assert.False(t, st.Cancelled)
		again(t, a)
	})
	t.Run("revoked", func(t *testing.T) {
		a, send, m := probed(t)
		a.s.Revoke()
		_, ok, err := send.Test()
		require.True(t, ok)
		require.ErrorIs(t, err, errclass.Revoked)
		_, err = m.Recv(context.Background(), room(10))
		assert.ErrorIs(t, err, errclass.Revoked, "its memory is its owner's again")
		again(t, a)
	})
}

// A persistent send that was cancelled too late once can still be cancelled later.
func TestPersistentSendIsCancelledAgain(t *testing.T) {
	s := newStage(t)
	defer s.close()
	a, b := s.nodes[0], s.nodes[1]
	send, err := a.s.SendInit(core.Synchronous, mem(10, 1), 1, 3)
	require.NoError(t, err)
	require.NoError(t, send.Start())
	s.step()
	_, err = b.s.Irecv(room(10), 0, 3) // the ACK has not arrived at a
	require.NoError(t, err)
	require.NoError(t, send.Cancel())
	s.step()
	st, ok, err := send.Test()
	require.NoError(t, err)
	require.True(t, ok)
	require.False(t, st.Cancelled)

	require.NoError(t, send.Start())
	s.step()
	require.Equal(t, 1, b.e.Stats().EarlyNow)
	require.NoError(t, send.Cancel())
	s.step()
	st, ok, err = send.Test()
	require.NoError(t, err)
	require.True(t, ok)
	require.True(t, st.Cancelled)
	require.Zero(t, b.e.Stats().EarlyNow)
}

// A send whose message a matched probe has taken ends when the communicator is revoked, although
// the message may never be received.
func TestTakenByAProbeAndRevoked(t *testing.T) {
	for name, n := range map[string]int{"whole": 10, "announced": 100_000} {
		for who := range 2 {
			t.Run(name, func(t *testing.T) {
				s := newStage(t)
				defer s.close()
				a, b := s.nodes[0], s.nodes[1]
				send, err := a.s.Isend(core.Synchronous, mem(n, 1), 1, 3)
				require.NoError(t, err)
				s.step()
				m, ok, err := b.s.Improbe(0, 3)
				require.NoError(t, err)
				require.True(t, ok)
				s.nodes[who].s.Revoke()
				for range 10 {
					s.step()
				}
				_, ok, err = send.Test()
				require.True(t, ok, "it waits for nobody")
				require.ErrorIs(t, err, errclass.Revoked)
				in := room(n)
				r, err := m.Irecv(in)
				require.NoError(t, err)
				_, ok, err = r.Test()
				require.True(t, ok)
				if n > 1000 {
					require.ErrorIs(t, err, errclass.Revoked)
				} else {
					require.NoError(t, err, "it is here")
					require.Equal(t, mem(n, 1), in)
				}
				a.s, b.s = a.scope(6, 0, a.all), b.scope(6, 1, b.all)
				s.talk()
				for i, d := range s.nodes {
					require.Zero(t, d.e.Stats().Protocol, "node %d", i)
				}
			})
		}
	}
}

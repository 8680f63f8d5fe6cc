package core_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// TestBlocked: while a call sleeps, the engine reports what the call waits for; otherwise it
// reports nothing.
func TestBlocked(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		nodes := open(t, 2, method, core.Limits{})
		a, b := nodes[0], nodes[1]
		calls, _, ops := a.e.Blocked()
		require.Zero(t, calls)
		require.Empty(t, ops)

		r, err := a.s.IrecvBytes(make([]byte, 1), core.AnySource, core.AnyTag)
		require.NoError(t, err)
		calls, _, ops = a.e.Blocked()
		require.Zero(t, calls, "a receive is posted, and nobody waits for it")
		require.Empty(t, ops)
		name := "doing"
		a.s.Doing(&name)
		ended := make(chan error)
		go func() {
			var in [1]byte
			_, err := a.s.RecvBytes(in[:], 1, 7)
			ended <- err
		}()
		for calls, _, ops = a.e.Blocked(); calls == 0 || len(ops) < 2; calls, _, ops = a.e.Blocked() {
			runtime.Gosched()
		}
		assert.ElementsMatch(t, []core.Pending{
			{Context: 2, Doing: name, Receive: true, Tag: core.AnyTag},
			{Context: 2, Doing: name, Receive: true, Proc: a.all[1], Tag: 7},
		}, ops)
		for range 2 { // the first goes to the receive of any tag
			require.NoError(t, b.s.SendBytes(core.Standard, []byte{1}, 0, 7))
		}
		require.NoError(t, <-ended)
		_, err = r.Wait(context.Background())
		require.NoError(t, err)
		calls, _, ops = a.e.Blocked()
		assert.Zero(t, calls)
		assert.Empty(t, ops)
	})
}

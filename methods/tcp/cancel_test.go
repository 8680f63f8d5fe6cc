package tcp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// TestManySendsAreCancelledSoon: the time that it takes grows with their number, not
// with its square, which here were more than ten seconds.
func TestManySendsAreCancelledSoon(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{PendingOps: 100_000})
	f, to := n.meet()
	f.room = 0
	var ops []bmi.OpID
	for range 100_000 {
		ops = append(ops, n.send(to, 1, 1).Op)
	}
	start := time.Now()
	for i := len(ops) - 1; i >= 0; i-- {
		require.NoError(t, n.ctx.Cancel(ops[i]))
		require.Less(t, time.Since(start), 5*time.Second)
	}
	require.EqualValues(t, len(ops), n.Stats().Methods[0].Errors.Cancelled)
}

package tcp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// TestManySendsAreCancelledSoon: the time grows with the number of sends, not with
// its square, which would be more than ten seconds without -short.
func TestManySendsAreCancelledSoon(t *testing.T) {
	count := 100_000
	if testing.Short() {
		count = 10_000
	}
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{PendingOps: count})
	f, to := n.connected()
	f.room = 0
	var ops []bmi.OpID
	for range count {
		ops = append(ops, n.send(to, 1, 1).Op)
	}
	began := time.Now()
	for i := len(ops) - 1; i >= 0; i-- {
		require.NoError(t, n.ctx.Cancel(ops[i]))
	}
	wallclock.Under(t, time.Since(began), 5*time.Second, "to cancel them")
	require.EqualValues(t, len(ops), n.Stats().Methods[0].Errors.Cancelled)
}

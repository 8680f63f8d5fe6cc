package tracefile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/trace"
)

// TestSummary: calls, the slowest, the time by peer, and what has not ended.
func TestSummary(t *testing.T) {
	a, b := newWriter(t, node("0", 0), "tcp://a:1"), newWriter(t, node("1", 0), "tcp://b:1")
	a.op("send", "tcp://b:1", 7, 100, 0, 2*us)
	a.op("recv", "tcp://b:1", 8, 50, 0, 3*ms)
	a.op("recv", "tcp://b:1", 9, 50, 0, 5*ms)
	a.op("recv", "tcp://elsewhere", 9, 1, 0, 4*ms)
	mpi := trace.Kind{Name: "call", Category: "mpi", Nums: [...]string{"bytes", "peer", "world_peer", "", "", ""}, Strs: [...]string{"comm", "result", ""}}
	b.k.Put(&trace.Event{Kind: &mpi, Name: "MPI_Recv", At: 0, End: 10 * ms, Nums: [...]int64{8, 0, 5, 0, 0, 0}, Strs: [...]string{"c", "", ""}})
	b.k.Put(&trace.Event{Kind: &mpi, Name: "MPI_Recv", At: 10 * ms, End: 11 * ms, Nums: [...]int64{8, -1, trace.None, 0, 0, 0}, Strs: [...]string{"c", "truncated", ""}})
	b.k.Put(&trace.Event{Kind: &bmiKind, Phase: trace.Begin, Name: "recv", ID: 99, At: 7 * ms, Nums: [...]int64{64, 3, trace.None, 0, 5: 0}, Strs: [...]string{"tcp://a:1", "", ""}})
	files := []string{a.close(), b.close()}
	s, err := Summarize(files, 2)
	require.NoError(t, err)
	assert.Equal(t, []Call{
		{Category: "bmi", Name: "recv", Count: 3, Bytes: 101, Total: 12 * ms, Longest: 5 * ms},
		{Category: "mpi", Name: "MPI_Recv", Count: 2, Failed: 1, Bytes: 16, Total: 11 * ms, Longest: 10 * ms},
		{Category: "bmi", Name: "send", Count: 1, Bytes: 100, Total: 2 * us, Longest: 2 * us},
	}, s.Calls)
	assert.Equal(t, 4*ms, s.Calls[0].Mean())
	const zero, one = "rank 0 heat on node0", "rank 1 heat on node1"
	assert.Equal(t, []Slow{
		{Process: one, Name: "MPI_Recv", Peer: "rank 5", Bytes: 8, Time: 10 * ms},
		{Process: zero, Name: "recv", Peer: one, Bytes: 50, Tag: 9, Time: 5 * ms},
	}, s.Slowest)
	assert.Equal(t, []Wait{
		{Process: one, Name: "MPI_Recv", Peer: "rank 5", Count: 1, Total: 10 * ms, Longest: 10 * ms},
		{Process: zero, Name: "recv", Peer: one, Count: 2, Total: 8 * ms, Longest: 5 * ms},
	}, s.Waits)
	assert.Equal(t, []Slow{{Process: one, Name: "recv", Peer: zero, Bytes: 64, Tag: 3, Began: 7 * ms}}, s.Pending)
	assert.Equal(t, 2, s.Processes)

	_, _, name := joined(t, files...)
	both, err := Summarize([]string{name}, 0)
	require.NoError(t, err)
	assert.Equal(t, s.Calls, both.Calls, "the joined file says the same")
	assert.Empty(t, both.Slowest)
	assert.Equal(t, 1, both.PendingMore)
}

func TestSumsDoNotOverflow(t *testing.T) {
	assert.Equal(t, int64(1<<63-1), plus(1<<63-5, 10))
	assert.Equal(t, int64(5), plus(5, -3))
	assert.Equal(t, time.Duration(0), (&Call{}).Mean())
}

package watch

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair opens an endpoint that listens, and another one that has looked it up.
func pair(t *testing.T, address string) (a *bmi.Endpoint, to bmi.Addr) {
	network := map[string]any{bmitest.Name: bmitest.Options{Network: bmitest.NewNetwork()}}
	b, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{address}, Options: network})
	require.NoError(t, err)
	a, err = bmi.Open(t.Context(), bmi.Config{Options: network})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nothing has to arrive
		require.NoError(t, a.Shutdown(ctx))
		require.NoError(t, b.Shutdown(ctx))
	})
	to, err = a.Lookup(b.Addresses()[0])
	require.NoError(t, err)
	return a, to
}

func count(t *testing.T, s *Snapshot, name string) float64 {
	t.Helper()
	for i := range s.Counts {
		if s.Counts[i].Name == name {
			return s.Counts[i].Value
		}
	}
	require.Fail(t, "no such count", name)
	return 0
}

// TestEndpoints: a snapshot has all open endpoints, and their counts are added up.
func TestEndpoints(t *testing.T) {
	require.Empty(t, Take().Endpoints)
	a, to := pair(t, "mem://watch")
	c, err := a.OpenContext()
	require.NoError(t, err)
	require.NoError(t, c.SendUnexpected(t.Context(), to, 1, 2, []byte("abc")))
	s := Take()
	for s.Endpoints[0].UnexpectedMessages == 0 { // the message has not arrived yet
		runtime.Gosched()
		s = Take()
	}
	require.Len(t, s.Endpoints, 2)
	assert.Equal(t, 3, s.Endpoints[0].UnexpectedBytes)
	assert.Equal(t, "mem", s.Endpoints[0].Methods[0].Name)
	assert.Equal(t, "mem://watch", s.Endpoints[0].Methods[0].Address)
	peer := s.Endpoints[1].Peers[0]
	assert.Equal(t, "mem://watch", peer.Address)
	assert.Equal(t, "READY", peer.State)
	assert.EqualValues(t, 1, peer.MessagesSent)
	assert.InDelta(t, 1, count(t, s, "bmi.mem.messages_sent"), 0)
	assert.InDelta(t, 1, count(t, s, "bmi.mem.messages_received"), 0)
	assert.InDelta(t, 1, count(t, s, "bmi.queued_unexpected"), 0)
	assert.Equal(t, os.Getpid(), s.PID)

	text, err := json.Marshal(s)
	require.NoError(t, err)
	back := new(Snapshot)
	require.NoError(t, json.Unmarshal(text, back))
	assert.Equal(t, s.Endpoints, back.Endpoints)
	assert.Equal(t, s.Counts, back.Counts)
}

// TestQueues: what cannot be sent yet is seen as queued.
func TestQueues(t *testing.T) {
	for _, address := range []string{"tcp://127.0.0.1:0", "via+shm://watch-queues"} {
		t.Run(address, func(t *testing.T) {
			a, to := pair(t, address)
			c, err := a.OpenContext()
			require.NoError(t, err)
			data := make([]byte, 2048)
			var p *Peer
			for range 1 << 15 {
				_, err := c.PostSend(to, 1, data, nil) // no receive is posted for it
				require.NoError(t, err)
				if s := endpoint(a, counts{}, time.Now()); len(s.Peers) == 1 && s.Peers[0].State == "READY" && s.Peers[0].QueuedSends > 1 {
					p = &s.Peers[0]
					break
				}
			}
			require.NotNil(t, p, "nothing is queued")
			assert.Greater(t, p.QueuedBytes, len(data))
			assert.False(t, p.Since.IsZero())
		})
	}
}

// TestSources: sources show themselves until they are closed; of several servers and ranks, one is shown.
func TestSources(t *testing.T) {
	one := &Source{Counts: func() []about.Count {
		return []about.Count{
			{Name: "x.n", Class: about.Counter, Values: []uint64{2}},
			{Name: "x.t", Class: about.Timer, Nanoseconds: true, Values: []uint64{3e9}},
			{Name: "x.p", Class: about.Generic, Nanoseconds: true, Values: []uint64{5e9}},
			{Name: "x.s", Class: about.State, Values: []uint64{1}},
			{Name: "x.h", Class: about.HighWatermark},
			{Name: "x.many", Values: []uint64{1, 2}},
		}
	}, Rank: func() *Rank { return &Rank{Rank: 1} }}
	two := &Source{Counts: one.Counts, Rank: func() *Rank { return &Rank{Rank: 2} }, Server: func() *Server { return &Server{Alias: "s"} }}
	closeOne, closeTwo := one.Open(), two.Open()
	s := Take()
	assert.InDelta(t, 4, count(t, s, "x.n"), 0)
	assert.InDelta(t, 6, count(t, s, "x.t"), 0, "seconds")
	assert.InDelta(t, 5, count(t, s, "x.p"), 0, "a percentile is no sum")
	assert.Len(t, s.Counts, 3)
	assert.Equal(t, 1, s.Rank.Rank)
	assert.Equal(t, "s", s.Server.Alias)
	closeOne()
	assert.Equal(t, 2, Take().Rank.Rank)
	closeTwo()
	assert.Nil(t, Take().Rank)
}

// TestRecent: readers within a short time share a snapshot.
func TestRecent(t *testing.T) {
	first := Recent()
	assert.Same(t, first, recentAt(first.Taken.Add(RecentTimeMax-1)))
	assert.NotSame(t, first, recentAt(first.Taken.Add(RecentTimeMax)))
	assert.NotSame(t, Recent(), recentAt(time.Time{}), "the clock was set back")
}

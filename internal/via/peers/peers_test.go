package peers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/peer"
)

// TestOneConnection: if either side or both ask for a connection, there is one, and each side
// learns the other's limits.
func TestOneConnection(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		for who := 1; who <= 3; who++ {
			w := newWorld(t, seed, nil)
			a, b := w.find(0), w.find(1)
			if who&1 != 0 {
				w.ends[0].want(a)
			}
			if who&2 != 0 {
				w.ends[1].want(b)
			}
			w.until(func() bool { return a.Ready() && b.Ready() && a.Link.Open() && b.Link.Open() })
			w.until(func() bool { return w.ends[0].links.Live()+w.ends[1].links.Live() == 2 })
			for i, r := range []*record{a, b} {
				assert.Equal(t, 1, r.opened)
				assert.Empty(t, r.ended)
				assert.Equal(t, 1000, r.EagerBytes())
				assert.NoError(t, w.ends[i].Check(r))
			}
			w.close()
			assert.ErrorIs(t, a.ended[len(a.ended)-1], bmi.ErrClosed)
			assert.ErrorIs(t, w.ends[0].SendRefusal(&a.Peer), bmi.ErrClosed)
		}
	})
}

// TestDrop: a dropped peer is forgotten once nothing waits for it. To the other side it has failed,
// and a new record may connect again.
func TestDrop(t *testing.T) {
	w := newWorld(t, 1, nil)
	a, b := w.find(0), w.find(1)
	w.ends[0].want(a)
	w.until(func() bool { return a.Link.Open() && b.Link.Open() })
	a.Acquire()
	w.ends[0].Drop(a)
	w.ends[0].Drop(a)
	require.NotEmpty(t, a.ended)
	for _, err := range a.ended {
		assert.ErrorIs(t, err, bmi.ErrDropped)
	}
	assert.ErrorIs(t, w.ends[0].Check(a), bmi.ErrDropped)
	assert.ErrorIs(t, w.ends[0].Refusal(&a.Peer, "receive"), bmi.ErrDropped)
	assert.False(t, a.MayRecv())
	w.until(func() bool { return len(b.ended) == 1 })
	assert.ErrorIs(t, b.ended[0], bmi.ErrPeerFailed)
	assert.Equal(t, peer.Disconnect, a.machine.State(), "an operation has not ended")
	assert.Zero(t, a.recovered)

	w.ends[0].Release(&a.Peer)
	assert.Equal(t, 1, a.recovered)
	assert.Zero(t, a.forgotten, "operations wait")
	w.ends[0].waits = false
	w.ends[0].MaybeForget(&a.Peer)
	w.ends[0].MaybeForget(&a.Peer)
	assert.Equal(t, 1, a.forgotten)
	assert.Nil(t, w.ends[0].ByID(a.ID()))

	again := w.find(0)
	require.NotSame(t, a, again)
	w.ends[0].want(again)
	w.until(func() bool { return again.Link.Open() && b.Link.Open() })
	w.close()
}

// TestWhyThereIsNoConnection: each reason is an error of its own, and is counted.
func TestWhyThereIsNoConnection(t *testing.T) {
	t.Run("nobody there", func(t *testing.T) {
		w := newWorld(t, 1, nil)
		p, err := w.ends[0].Find("sim://nobody")
		require.NoError(t, err)
		r := p.Link.Owner().(*record)
		w.ends[0].want(r)
		w.until(func() bool { return len(r.ended) == 1 })
		assert.ErrorIs(t, r.ended[0], bmi.ErrUnreachable)
		assert.ErrorIs(t, w.ends[0].Check(r), bmi.ErrUnreachable)
		assert.Equal(t, bmi.ErrorCounts{ConnectFailed: 1}, w.ends[0].count)
	})
	t.Run("another version", func(t *testing.T) {
		w := newWorld(t, 1, func(i int, cfg *Config) { cfg.Machine.Local.Version += uint16(i) })
		r := w.find(0)
		w.ends[0].want(r)
		w.until(func() bool { return len(r.ended) == 1 })
		assert.ErrorIs(t, r.ended[0], bmi.ErrVersion)
		assert.Equal(t, uint64(1), w.ends[0].count.Version)
	})
	t.Run("it closes", func(t *testing.T) {
		w := newWorld(t, 1, nil)
		w.ends[1].BeginClose()
		r := w.find(0)
		w.ends[0].want(r)
		w.until(func() bool { return len(r.ended) == 1 })
		assert.ErrorIs(t, r.ended[0], bmi.ErrPeerFailed)
	})
	t.Run("it has no address", func(t *testing.T) {
		w := newWorld(t, 1, func(i int, cfg *Config) {
			if i == 0 {
				cfg.Machine.Local.Name = ""
			}
		})
		a := w.find(0)
		w.ends[0].want(a)
		w.until(func() bool { return a.Link.Open() })
		b := w.find(1)
		w.ends[1].waits = false
		w.ends[0].Drop(a)
		w.until(func() bool { return b.forgotten == 1 })
		assert.ErrorIs(t, w.ends[1].SendRefusal(&b.Peer), bmi.ErrUnreachable)
		assert.ErrorIs(t, w.ends[1].Check(b), bmi.ErrUnreachable)
		assert.NotSame(t, b, w.find(1), "the name is free for another")
	})
}

// TestAPeerThatBreaksTheRules is disconnected, and that is counted.
func TestAPeerThatBreaksTheRules(t *testing.T) {
	w := newWorld(t, 1, nil)
	a, b := w.find(0), w.find(1)
	w.ends[0].want(a)
	w.until(func() bool { return a.Link.Open() && b.Link.Open() })
	w.ends[1].Breached(&b.Link, assert.AnError)
	assert.ErrorIs(t, b.ended[0], bmi.ErrProtocol)
	assert.Equal(t, uint64(1), w.ends[1].count.Protocol)
	w.until(func() bool { return len(a.ended) == 1 })
	assert.Equal(t, peer.Init, a.machine.State())
}

func TestAddresses(t *testing.T) {
	w := newWorld(t, 1, nil)
	a := w.find(0)
	require.Same(t, a, w.find(0))
	assert.Equal(t, "sim://b", a.String())
	for _, bad := range []string{"", "b", "sim", "sim://", "tcp://b", "sim://b c", "sim://\x7f", "sim://" + string(make([]byte, 200))} {
		_, err := w.ends[0].Find(bad)
		assert.ErrorIs(t, err, bmi.ErrBadAddress, "%q", bad)
	}
	self, err := w.ends[0].Find("sim://a")
	require.NoError(t, err)
	assert.True(t, self.Self())
	assert.False(t, a.Self())
	for pattern, want := range map[string]bool{"b": true, "sim://[a-c]": true, "a": false, "sim://bb": false} {
		in, err := w.ends[0].InRange(a, pattern)
		require.NoError(t, err)
		assert.Equal(t, want, in, pattern)
	}
	_, err = w.ends[0].InRange(a, "[")
	assert.ErrorIs(t, err, bmi.ErrInvalid)
}

package tool_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
	"github.com/viaduct-hpc/viaduct/mpi/tool"
)

// A meeting lets the two ranks of a test wait for each other without a message.
type meeting chan struct{}

func (m meeting) meet() {
	select {
	case m <- struct{}{}:
	case <-m:
	}
}

// A watch is a session whose variables are read by name.
type watch struct {
	t *testing.T
	*tool.Session
	by map[string]*tool.Handle
}

func newWatch(t *testing.T, i *tool.Interface) *watch {
	return &watch{t, i.Session(), make(map[string]*tool.Handle)}
}

// add adds variables of an object.
func (w *watch) add(object any, names ...string) {
	for _, name := range names {
		h, err := w.Handle(name, object)
		require.NoError(w.t, err)
		w.by[name] = h
	}
}

// is checks the values of scalars.
func (w *watch) is(want map[string]uint64, why string) {
	w.t.Helper()
	for name, n := range want {
		got, err := w.by[name].Read()
		require.NoError(w.t, err)
		assert.Equal(w.t, []uint64{n}, got, "%s: %s", name, why)
	}
}

// becomes is is for counts that a method makes only after the message is there.
func (w *watch) becomes(want map[string]uint64, why string) {
	w.t.Helper()
	assert.Eventually(w.t, func() bool {
		for name, n := range want {
			got, err := w.by[name].Read()
			if !assert.NoError(w.t, err) || got[0] != n {
				return false
			}
		}
		return true
	}, wallclock.Patience, time.Millisecond)
	w.is(want, why)
}

// connect makes the connection of two ranks, from rank 0 to rank 1, so that nothing of it comes later:
// each sends who it is, and a ball.
func connect(t *testing.T, w *mpi.Comm) {
	ball := mpi.Slice([]int{0})
	for turn := range 2 {
		if w.Rank() == turn {
			require.NoError(t, w.Send(bg, ball, 1-turn, 0))
			continue
		}
		// A receive from a given rank would connect, too.
		_, err := w.Recv(bg, ball, mpi.AnySource, 0)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		st := w.Process().Endpoint().Stats().Methods[0]
		return st.MessagesReceived >= 2 && st.MessagesSent >= 2
	}, wallclock.Patience, time.Millisecond)
}

const (
	smallBytes = 8
	largeBytes = 1 << 20
)

// TestEagerAndRendezvous: messages move the counters of their kind by as many, at both ends, in total
// and by rank.
func TestEagerAndRendezvous(t *testing.T) {
	mpitest.Over(t, methods, func(t *testing.T, o mpitest.Options) {
		m := make(meeting)
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			connect(t, w)
			m.meet()
			v := newWatch(t, open(t, p))
			prefix := "bmi." + o.Method + "."
			v.add(nil, "mpi.announced", "mpi.early", prefix+"messages_sent", prefix+"messages_received", prefix+"bytes_sent", prefix+"eager_sent",
				prefix+"unexpected_sent", prefix+"unexpected_received", prefix+"rendezvous_sent", prefix+"rendezvous_received")
			v.add(w, "mpi.comm.peer.messages_sent", "mpi.comm.peer.rendezvous_sent")
			require.NoError(t, v.Start())
			m.meet()
			small, large := make([]byte, smallBytes), make([]byte, largeBytes)
			if w.Rank() == 1 {
				var rs []mpi.Request
				for range 5 {
					rs = append(rs, w.Irecv(mpi.Slice(make([]byte, smallBytes)), 0, 0))
				}
				rs = append(rs, w.Irecv(mpi.Slice(large), 0, 1))
				m.meet()
				require.NoError(t, mpi.WaitAll(bg, rs...))
				m.meet()
				v.becomes(map[string]uint64{
					"mpi.early": 0, prefix + "messages_received": 7, prefix + "unexpected_received": 6, prefix + "rendezvous_received": 1, prefix + "unexpected_sent": 1,
				}, "5 small messages, an announcement, and a large message; an answer")
				m.meet() // before Finalize, which sends messages, too
				return
			}
			m.meet()
			for range 5 {
				require.NoError(t, w.Send(bg, mpi.Slice(small), 1, 0))
			}
			v.is(map[string]uint64{"mpi.announced": 0}, "small messages are not announced")
			require.NoError(t, w.Send(bg, mpi.Slice(large), 1, 1))
			m.meet()
			v.becomes(map[string]uint64{
				"mpi.announced": 1, prefix + "messages_sent": 7, prefix + "eager_sent": 6, prefix + "unexpected_sent": 6, prefix + "rendezvous_sent": 1,
				prefix + "bytes_sent": 5*(smallBytes+wire.EagerBytes) + wire.RTSBytes + largeBytes, prefix + "unexpected_received": 1,
			}, "5 small messages, an announcement, and a large message; an answer")
			for name, n := range map[string]uint64{"mpi.comm.peer.messages_sent": 7, "mpi.comm.peer.rendezvous_sent": 1} {
				got, err := v.by[name].Read()
				require.NoError(t, err)
				assert.Equal(t, []uint64{0, n}, got, name)
			}
			m.meet()
		})
	})
}

// TestUnexpectedQueue: its length rises with messages that arrive before their receives, and falls with
// these; a high watermark stays; events tell of each.
func TestUnexpectedQueue(t *testing.T) {
	mpitest.Over(t, methods, func(t *testing.T, o mpitest.Options) {
		m := make(meeting)
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			connect(t, w)
			other, err := w.Dup(bg)
			require.NoError(t, err)
			m.meet()
			const many = 4
			if w.Rank() == 0 {
				m.meet()
				for tag := range many {
					require.NoError(t, w.Send(bg, mpi.Value(&tag), 1, tag))
				}
				m.meet()
				require.NoError(t, other.Free())
				return
			}
			i := open(t, p)
			v := newWatch(t, i)
			v.add(nil, "mpi.early", "mpi.early_now", "mpi.early_most")
			v.add(w, "mpi.comm.early", "mpi.comm.posted")
			elsewhere := newWatch(t, i)
			elsewhere.add(other, "mpi.comm.early")
			require.NoError(t, v.Start())
			var noticed atomic.Int32
			_, err = i.Listen("mpi.message_kept", tool.Restricted, func(tool.Event) { noticed.Add(1) })
			require.NoError(t, err)
			events := make(chan tool.Event, many)
			_, err = i.Listen("mpi.message_kept", tool.RequireNone, func(e tool.Event) { events <- e })
			require.NoError(t, err)
			m.meet()
			require.Eventually(t, func() bool {
				_, _, err := w.Iprobe(0, many) // polls
				require.NoError(t, err)
				n, err := v.by["mpi.early_now"].Read()
				require.NoError(t, err)
				return n[0] == many
			}, wallclock.Patience, time.Millisecond)
			v.is(map[string]uint64{"mpi.early": many, "mpi.early_most": many, "mpi.comm.early": many, "mpi.comm.posted": 0}, "none is received")
			elsewhere.is(map[string]uint64{"mpi.comm.early": 0}, "another communicator")
			assert.EqualValues(t, many, noticed.Load())
			for tag := range many {
				e := <-events
				assert.Equal(t, "mpi.message_kept", e.Type.Name)
				assert.Equal(t, []any{0, 0, tag, 8}, append(e.Values[1:2:2], e.Values[3:]...), "world rank, rank, tag, bytes")
				assert.Positive(t, e.At)
			}
			recv := func(tags ...int) {
				for _, tag := range tags {
					_, err := w.Recv(bg, mpi.Slice([]int{0}), 0, tag)
					require.NoError(t, err)
				}
			}
			recv(0, 1)
			v.is(map[string]uint64{"mpi.early": many, "mpi.early_now": 2, "mpi.early_most": many, "mpi.comm.early": 2}, "2 are received")
			was, err := v.by["mpi.early_most"].ReadReset()
			require.NoError(t, err)
			assert.Equal(t, []uint64{many}, was)
			recv(3)
			v.is(map[string]uint64{"mpi.early_now": 1, "mpi.early_most": 2, "mpi.comm.early": 1}, "since the reset")
			r := w.Irecv(mpi.Slice([]int{0}), 0, many)
			v.is(map[string]uint64{"mpi.comm.posted": 1}, "a receive waits")
			require.NoError(t, r.Cancel())
			_, err = r.Wait(bg)
			require.NoError(t, err)
			recv(2)
			v.is(map[string]uint64{"mpi.early_now": 0, "mpi.early": many, "mpi.comm.early": 0, "mpi.comm.posted": 0}, "all are received")
			m.meet()
			require.NoError(t, other.Free())
		})
	})
}

// TestCollectives: the operations of each communicator are counted.
func TestCollectives(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		v := newWatch(t, open(t, p))
		v.add(w, "mpi.coll.operations")
		require.NoError(t, v.Start())
		require.NoError(t, w.Barrier(bg))
		require.NoError(t, w.Bcast(bg, mpi.Slice([]int{1}), 0))
		v.is(map[string]uint64{"mpi.coll.operations": 2}, "a barrier and a broadcast")
	})
}

// TestWindows: variables of a window are arrays by rank.
func TestWindows(t *testing.T) {
	mpitest.Over(t, []string{"mem", "via+shm"}, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			win, err := rma.Allocate(bg, w, 8*(w.Rank()+1), 8, nil)
			require.NoError(t, err)
			s := open(t, p).Session()
			read := func(name string) []uint64 {
				h, err := s.Handle(name, win)
				require.NoError(t, err)
				got, err := h.Read()
				require.NoError(t, err)
				return got
			}
			assert.Equal(t, []uint64{8, 16}, read("mpi.rma.bytes"))
			assert.Equal(t, []uint64{0, 0}, read("mpi.rma.pending"))
			assert.Len(t, read("mpi.rma.within_reach"), 2)
			require.NoError(t, win.Free(bg))
		})
	})
}

// TestSleeps: a process that waits for a message sleeps, and a timer tells for how long.
func TestSleeps(t *testing.T) {
	m := make(meeting)
	mpitest.Run(t, 2, mpitest.Options{Method: "via+shm"}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		connect(t, w)
		if w.Rank() == 1 {
			m.meet()
			require.NoError(t, w.Send(bg, mpi.Slice([]int{1}), 0, 0))
			return
		}
		i := open(t, p)
		spin, err := i.Control("bmi.spin_max")
		require.NoError(t, err)
		require.NoError(t, spin.Write(time.Duration(-1)))
		v := newWatch(t, i)
		v.add(nil, "bmi.sleeps", "bmi.slept", "bmi.spins_lost")
		require.NoError(t, v.Start())
		r := w.Irecv(mpi.Slice([]int{0}), 1, 0)
		go func() {
			assert.Eventually(t, func() bool {
				n, err := v.by["bmi.sleeps"].Read()
				return assert.NoError(t, err) && n[0] > 0
			}, wallclock.Patience, time.Millisecond)
			m.meet()
		}()
		_, err = r.Wait(bg)
		require.NoError(t, err)
		require.NoError(t, v.Stop())
		v.is(map[string]uint64{"bmi.spins_lost": 0}, "it does not poll")
		slept, err := v.by["bmi.slept"].Read()
		require.NoError(t, err)
		assert.Positive(t, slept[0])
	})
}

// TestTwoConnections: where both ranks connect at once, there may be two connections, and what is
// counted by rank is the sum.
func TestTwoConnections(t *testing.T) {
	mpitest.Over(t, methods, func(t *testing.T, o mpitest.Options) {
		m := make(meeting)
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			v := newWatch(t, open(t, p))
			v.add(nil, "bmi."+o.Method+".messages_received")
			v.add(w, "mpi.comm.peer.messages_received")
			require.NoError(t, v.Start())
			m.meet() // or the first message might come before, and count for its method only
			for range 5 {
				require.NoError(t, w.Barrier(bg))
			}
			// The two are read at two moments, so until nothing comes in between.
			require.Eventually(t, func() bool {
				all, err := v.Read()
				require.NoError(t, err)
				return all[0][0] >= 5 && all[0][0] == all[1][0]+all[1][1]
			}, wallclock.Patience, time.Millisecond)
		})
	})
}

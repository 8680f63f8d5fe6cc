package tool_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/mpi/tool"
)

// toSelf sends messages to the process itself, which wait for their receives, and receives them.
func toSelf(t *testing.T, w *mpi.Comm, n int) {
	keep(t, w, n)
	take(t, w, n)
}

func keep(t *testing.T, w *mpi.Comm, n int) {
	for range n {
		require.NoError(t, w.Send(bg, mpi.Slice([]int{1}), w.Rank(), 0))
	}
}

func take(t *testing.T, w *mpi.Comm, n int) {
	for range n {
		_, err := w.Recv(bg, mpi.Slice([]int{0}), w.Rank(), 0)
		require.NoError(t, err)
	}
}

// TestSessionsAreApart: what one session starts, stops, resets and writes, another does not notice.
func TestSessionsAreApart(t *testing.T) {
	alone(t, "mem", func(t *testing.T, p *mpi.Process, i *tool.Interface) {
		w := p.World()
		a, b := newWatch(t, i), newWatch(t, i)
		for _, v := range []*watch{a, b} {
			v.add(nil, "mpi.early", "mpi.early_most")
		}
		early, most := a.by["mpi.early"], a.by["mpi.early_most"]
		toSelf(t, w, 2)
		a.is(map[string]uint64{"mpi.early": 0, "mpi.early_most": 0}, "it is not started")
		require.NoError(t, b.Start())
		toSelf(t, w, 3)
		require.NoError(t, a.Start())
		require.NoError(t, early.Start(), "once more")
		toSelf(t, w, 1)
		a.is(map[string]uint64{"mpi.early": 1, "mpi.early_most": 1}, "since its start")
		b.is(map[string]uint64{"mpi.early": 4, "mpi.early_most": 3}, "since its start")

		require.NoError(t, a.Stop())
		require.NoError(t, early.Stop(), "once more")
		toSelf(t, w, 5)
		a.is(map[string]uint64{"mpi.early": 1, "mpi.early_most": 1}, "it is stopped")
		require.NoError(t, early.Start())
		require.NoError(t, most.Start())
		toSelf(t, w, 2)
		a.is(map[string]uint64{"mpi.early": 3, "mpi.early_most": 2}, "it goes on")
		was, err := early.ReadReset()
		require.NoError(t, err)
		assert.Equal(t, []uint64{3}, was)
		require.NoError(t, most.Reset())
		a.is(map[string]uint64{"mpi.early": 0, "mpi.early_most": 0}, "it is reset")
		require.NoError(t, early.Write(100))
		require.NoError(t, most.Write(50))
		toSelf(t, w, 1)
		a.is(map[string]uint64{"mpi.early": 101, "mpi.early_most": 50}, "it was written")
		require.NoError(t, a.Reset())
		a.is(map[string]uint64{"mpi.early": 0, "mpi.early_most": 0}, "all are reset")
		b.is(map[string]uint64{"mpi.early": 12, "mpi.early_most": 5}, "the other session")

		all, err := b.Read()
		require.NoError(t, err)
		assert.Equal(t, [][]uint64{{12}, {5}}, all)
		require.NoError(t, b.by["mpi.early"].Free())
		all, err = b.Read()
		require.NoError(t, err)
		assert.Equal(t, [][]uint64{{5}}, all)
		a.Free()
		toSelf(t, w, 6)
		b.is(map[string]uint64{"mpi.early_most": 6}, "the end of another session changes nothing")
	})
}

// TestWatermarkBeginsWithTheLevel: messages that are there at the start count.
func TestWatermarkBeginsWithTheLevel(t *testing.T) {
	alone(t, "mem", func(t *testing.T, p *mpi.Process, i *tool.Interface) {
		v := newWatch(t, i)
		v.add(nil, "mpi.early_most")
		keep(t, p.World(), 3)
		require.NoError(t, v.Start())
		take(t, p.World(), 2)
		v.is(map[string]uint64{"mpi.early_most": 3}, "at the start")
		require.NoError(t, v.Reset())
		v.is(map[string]uint64{"mpi.early_most": 1}, "at the reset")
		take(t, p.World(), 1)
	})
}

// TestMistakesHaveCodes: each wrong use has its code and a sentence.
func TestMistakesHaveCodes(t *testing.T) {
	_, err := tool.Open(nil)
	require.ErrorIs(t, err, tool.ErrNotInitialized)
	alone(t, "mem", func(t *testing.T, p *mpi.Process, i *tool.Interface) {
		w := p.World()
		s := i.Session()
		_, err := s.Handle("mpi.nothing", nil)
		assert.ErrorIs(t, err, tool.ErrInvalidName)
		_, err = s.Handle("mpi.comm.early", nil)
		assert.ErrorIs(t, err, tool.ErrInvalidHandle, "it wants a communicator")
		_, err = s.Handle("mpi.early", w)
		assert.ErrorIs(t, err, tool.ErrInvalidHandle, "it wants none")
		for _, object := range []any{(*mpi.Comm)(nil), 5, "world"} {
			_, err = s.Handle("mpi.comm.early", object)
			assert.ErrorIs(t, err, tool.ErrInvalidHandle)
		}
		level, err := s.Handle("mpi.early_now", nil)
		require.NoError(t, err)
		assert.ErrorIs(t, level.Start(), tool.ErrPvarNoStartStop)
		assert.ErrorIs(t, level.Stop(), tool.ErrPvarNoStartStop)
		assert.ErrorIs(t, level.Reset(), tool.ErrPvarNoWrite)
		assert.ErrorIs(t, level.Write(1), tool.ErrPvarNoWrite)
		_, err = level.ReadReset()
		assert.ErrorIs(t, err, tool.ErrPvarNoWrite)
		early, err := s.Handle("mpi.early", nil)
		require.NoError(t, err)
		assert.ErrorIs(t, early.Write(1, 2), tool.ErrInvalid)
		require.NoError(t, early.Free())
		assert.ErrorIs(t, early.Start(), tool.ErrInvalidHandle)
		assert.ErrorIs(t, early.Free(), tool.ErrInvalidHandle)
		_, err = (*tool.Handle)(nil).Read()
		assert.ErrorIs(t, err, tool.ErrInvalidHandle)
		s.Free()
		for _, err := range []error{s.Start(), s.Stop(), s.Reset(), level.Free()} {
			assert.ErrorIs(t, err, tool.ErrInvalidSession)
		}
		_, err = s.Read()
		assert.ErrorIs(t, err, tool.ErrInvalidSession)
		_, err = s.Handle("mpi.early", nil)
		assert.ErrorIs(t, err, tool.ErrInvalidSession)
		_, err = i.Category("mpi.nothing")
		assert.ErrorIs(t, err, tool.ErrInvalidName)
		_, err = i.Listen("mpi.nothing", tool.RequireNone, func(tool.Event) {})
		assert.ErrorIs(t, err, tool.ErrInvalidName)
		_, err = i.Listen("mpi.revoked", tool.RequireNone, nil)
		assert.ErrorIs(t, err, tool.ErrInvalid)

		c, err := i.Control("mpi.method")
		require.NoError(t, err)
		live := i.Session()
		i.Close()
		_, err = c.Read()
		assert.ErrorIs(t, err, tool.ErrNotInitialized)
		_, err = i.Controls()
		assert.ErrorIs(t, err, tool.ErrNotInitialized)
		_, err = i.Performance()
		assert.ErrorIs(t, err, tool.ErrNotInitialized)
		_, err = i.Categories()
		assert.ErrorIs(t, err, tool.ErrNotInitialized)
		_, err = i.Changed()
		assert.ErrorIs(t, err, tool.ErrNotInitialized)
		_, err = i.Events()
		assert.ErrorIs(t, err, tool.ErrNotInitialized)
		_, err = i.EventSources()
		assert.ErrorIs(t, err, tool.ErrNotInitialized)
		_, err = i.Listen("mpi.revoked", tool.RequireNone, func(tool.Event) {})
		assert.ErrorIs(t, err, tool.ErrNotInitialized)
		assert.ErrorIs(t, live.Start(), tool.ErrInvalidSession)
		assert.ErrorIs(t, i.Session().Start(), tool.ErrInvalidSession)
		assert.ErrorContains(t, err, "MPI_T_ERR_NOT_INITIALIZED: the tools interface is closed")
	})
}

// TestTree: the layers are a tree, and everything is in it, once.
func TestTree(t *testing.T) {
	alone(t, "via+shm", func(t *testing.T, _ *mpi.Process, i *tool.Interface) {
		all, err := i.Categories()
		require.NoError(t, err)
		above := make(map[string]string)
		n := 0
		for _, c := range all {
			for _, below := range c.Categories {
				assert.Empty(t, above[below], "%s is below two", below)
				above[below] = c.Name
			}
			n += len(c.Controls) + len(c.Variables) + len(c.Events)
		}
		for _, c := range all {
			if c.Name != "mpi" && c.Name != "bmi" {
				assert.NotEmpty(t, above[c.Name], c.Name)
			}
		}
		controls, err := i.Controls()
		require.NoError(t, err)
		variables, err := i.Performance()
		require.NoError(t, err)
		events, err := i.Events()
		require.NoError(t, err)
		assert.Equal(t, len(controls)+len(variables)+len(events), n)
		c, err := i.Category("mpi.comm")
		require.NoError(t, err)
		assert.Equal(t, []string{"mpi.comm.early", "mpi.comm.posted"}, c.Variables)
		assert.Equal(t, []string{"mpi.comm.peer"}, c.Categories)
	})
}

// TestVerbosity: the lower a layer is, the fewer want to see it.
func TestVerbosity(t *testing.T) {
	alone(t, "via+shm", func(t *testing.T, _ *mpi.Process, i *tool.Interface) {
		all, err := i.Performance()
		require.NoError(t, err)
		for name, want := range map[string]tool.Verbosity{
			"mpi.early": tool.UserBasic, "mpi.comm.peer.bytes_sent": tool.UserDetail, "bmi.polls": tool.TunerBasic, "bmi.via+shm.bytes_sent": tool.TunerDetail,
			"bmi.via+shm.errors.protocol": tool.TunerAll, "bmi.via+shm.nic.looks": tool.DevDetail,
		} {
			found := slices.IndexFunc(all, func(v tool.Variable) bool { return v.Name == name })
			require.GreaterOrEqual(t, found, 0, name)
			assert.Equal(t, want, all[found].Verbosity, name)
		}
	})
}

// TestChanged: the stamp grows when a method is opened, and not else.
func TestChanged(t *testing.T) {
	alone(t, "mem", func(t *testing.T, p *mpi.Process, i *tool.Interface) {
		_, err := i.Category("bmi.tcp.errors")
		require.ErrorIs(t, err, tool.ErrInvalidName)
		before, err := i.Changed()
		require.NoError(t, err)
		_, err = p.Endpoint().Lookup("tcp://127.0.0.1:1")
		require.NoError(t, err)
		after, err := i.Changed()
		require.NoError(t, err)
		assert.Greater(t, after, before)
		again, err := i.Changed()
		require.NoError(t, err)
		assert.Equal(t, after, again)
		_, err = i.Category("bmi.tcp.errors")
		require.NoError(t, err)
	})
}

// TestConcurrent: several tools read and change while messages travel.
func TestConcurrent(t *testing.T) {
	mpitest.Over(t, methods, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			i := open(t, p)
			var tools sync.WaitGroup
			done := make(chan struct{})
			for range 2 {
				tools.Go(func() {
					s := i.Session()
					defer s.Free()
					for _, name := range []string{"mpi.early_most", "mpi.early", "bmi.polls", "bmi." + o.Method + ".messages_sent"} {
						_, err := s.Handle(name, nil)
						assert.NoError(t, err)
					}
					_, err := s.Handle("mpi.comm.peer.messages_sent", p.World())
					assert.NoError(t, err)
					c, err := i.Control("mpi.limits.eager_bytes_max")
					assert.NoError(t, err)
					for n := 0; ; n++ {
						select {
						case <-done:
							return
						default:
						}
						_, err := s.Read()
						assert.NoError(t, err)
						assert.NoError(t, s.Start())
						assert.NoError(t, c.Write(1+n%3*1000))
						l, err := i.Listen("mpi.message_kept", tool.Safety(n%4), func(tool.Event) {})
						assert.NoError(t, err)
						assert.NoError(t, s.Reset())
						assert.NoError(t, s.Stop())
						<-l.Stop()
					}
				})
			}
			w, xs := p.World(), make([]byte, 1500)
			for n := range 200 {
				_, err := w.Sendrecv(bg, mpi.Slice(xs), 1-w.Rank(), n, mpi.Slice(make([]byte, 1500)), 1-w.Rank(), n)
				require.NoError(t, err)
			}
			close(done)
			tools.Wait()
		})
	})
}

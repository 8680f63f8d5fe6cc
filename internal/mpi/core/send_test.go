package core_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// sizes are sizes for every way in which a message can travel.
var sizes = []int{0, 1, 8, 496, 497, 8 << 10, 8<<10 + 1, 64 << 10, 1 << 20, 33 << 20}

// enough reports that -short leaves out a message: the largest ones travel in the same way in every
// mode, whenever their receive is posted.
func enough(n int, mode core.Mode, posted bool) bool {
	return testing.Short() && n > 1<<20 && (mode != core.Standard || !posted)
}

func TestSizesAndModes(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 2, method, core.Limits{})
		for _, n := range sizes {
			for _, mode := range []core.Mode{core.Standard, core.Synchronous, core.Ready, core.Buffered} {
				for _, posted := range []bool{true, false} {
					if enough(n, mode, posted) {
						continue
					}
					in, out := room(n), mem(n, byte(n))
					var r, s core.Request
					var err error
					if posted {
						r, err = d[1].s.Irecv(in, 0, 5)
						require.NoError(t, err)
					}
					s, err = d[0].s.Isend(mode, out, 1, 5)
					require.NoError(t, err)
					if !posted {
						r, err = d[1].s.Irecv(in, core.AnySource, core.AnyTag)
						require.NoError(t, err)
					}
					sent := make(chan struct{})
					go func() { d[0].mustWait(s, nil); close(sent) }()
					assert.Equal(t, core.Status{Source: 0, Tag: 5, Bytes: n}, d[1].mustWait(r, nil))
					<-sent
					require.Equal(t, out.Mem, in.Mem, "%d bytes, mode %d", n, mode)
				}
			}
		}
	})
}

func TestToOneself(t *testing.T) {
	d := open(t, 1, "via+shm", core.Limits{})[0]
	for _, n := range sizes {
		for _, mode := range []core.Mode{core.Standard, core.Synchronous, core.Buffered} {
			for _, posted := range []bool{true, false} {
				if enough(n, mode, posted) {
					continue
				}
				in, out := room(n), mem(n, byte(n+1))
				var r core.Request
				var err error
				if posted {
					r, err = d.s.Irecv(in, core.AnySource, 1)
					require.NoError(t, err)
				}
				s, err := d.s.Isend(mode, out, 0, 1)
				require.NoError(t, err)
				if !posted {
					r, err = d.s.Irecv(in, 0, 1)
					require.NoError(t, err)
				}
				assert.Equal(t, core.Status{Source: 0, Tag: 1, Bytes: n}, d.mustWait(r, nil))
				d.mustWait(s, nil)
				require.Equal(t, out.Mem, in.Mem)
			}
		}
	}
}

// Types that are not contiguous on one side, on the other, or on both.
func TestScatteredMemory(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 2, method, core.Limits{StagingBytes: 5000})
		for _, count := range []int{0, 1, 300, 30_000} {
			every, err := datatype.Vector(3, 2, 5, datatype.Int16) // 12 bytes in 24
			require.NoError(t, err)
			every, err = datatype.Resized(every, 0, 30)
			require.NoError(t, err)
			scattered := func(b []byte) core.Buffer { return core.Buffer{Mem: b, Type: every, Count: count} }
			want := make([]byte, 12*count)
			src := mem(30*count, 3).Mem
			_, err = every.Pack(want, src, 0, count)
			require.NoError(t, err)
			for to, self := range map[int]bool{1: false, 0: true} {
				for range 2 {
					var in [2]core.Buffer
					in[0], in[1] = room(12*count), scattered(make([]byte, 30*count))
					for i, out := range []core.Buffer{scattered(src), scattered(src), {Mem: want}} {
						buf := in[i%2]
						r, err := d[to].s.Irecv(buf, 0, 9)
						require.NoError(t, err)
						s, err := d[0].s.Isend(core.Standard, out, to, 9)
						require.NoError(t, err)
						sent := make(chan struct{})
						go func() { d[0].mustWait(s, nil); close(sent) }()
						assert.Equal(t, 12*count, d[to].mustWait(r, nil).Bytes)
						<-sent
						got := buf.Mem
						if buf.Type != nil {
							got = make([]byte, 12*count)
							_, err = every.Pack(got, buf.Mem, 0, count)
							require.NoError(t, err)
						}
						require.Equal(t, want, got, "count %d, self %v, case %d", count, self, i)
					}
				}
			}
		}
	})
}

func TestTruncation(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 2, method, core.Limits{})
		for _, n := range []int{8, 600, 9 << 10, 3 << 20} {
			for _, space := range []int{0, 7, n / 2} {
				for to := range 2 {
					out, in := mem(n, 1), room(space)
					r, err := d[to].s.Irecv(in, 0, 1)
					require.NoError(t, err)
					s, err := d[0].s.Isend(core.Standard, out, to, 1)
					require.NoError(t, err)
					sent := make(chan struct{})
					go func() { d[0].mustWait(s, nil); close(sent) }()
					st, err := d[to].wait(r, nil)
					<-sent
					require.ErrorIs(t, err, errclass.Truncate)
					assert.Equal(t, n, st.Bytes)
					assert.Equal(t, out.Mem[:space], in.Mem, "what fits is there")
				}
			}
		}
		require.NoError(t, d[0].s.Send(core.Standard, mem(4, 4), 1, 2), "and all goes on")
		_, err := d[1].s.Recv(room(4), 0, 2)
		require.NoError(t, err)
	})
}

func TestNull(t *testing.T) {
	d := open(t, 1, "via+shm", core.Limits{})[0]
	null := core.Status{Source: core.ProcNull, Tag: core.AnyTag}
	require.NoError(t, d.s.Send(core.Synchronous, mem(1<<20, 0), core.ProcNull, 3))
	st, err := d.s.Recv(room(4), core.ProcNull, 7)
	require.NoError(t, err)
	assert.Equal(t, null, st)
	st, err = d.s.Probe(context.Background(), core.ProcNull, 7)
	require.NoError(t, err)
	assert.Equal(t, null, st)
	m, err := d.s.Mprobe(context.Background(), core.ProcNull, 7)
	require.NoError(t, err)
	st, err = m.Recv(context.Background(), room(4))
	require.NoError(t, err)
	assert.Equal(t, null, st)
	st, err = core.Request{}.Wait(context.Background())
	require.NoError(t, err)
	assert.Equal(t, core.Empty, st)
}

func TestBadArguments(t *testing.T) {
	d := open(t, 1, "via+shm", core.Limits{})[0]
	for _, c := range []struct {
		class errclass.Class
		text  string
		err   error
	}{
		{errclass.Rank, "rank 1, the communicator has 0 to 0", d.s.Send(core.Standard, room(1), 1, 0)},
		{errclass.Rank, "rank -1", d.s.Send(core.Standard, room(1), core.AnySource, 0)},
		{errclass.Tag, "tag -1", d.s.Send(core.Standard, room(1), 0, core.AnyTag)},
		{errclass.Tag, "give 0 to 268435455", d.s.Send(core.Standard, room(1), 0, core.TagMax+1)},
		{errclass.Count, "-1 elements", d.s.Send(core.Standard, core.Buffer{Type: datatype.Int64, Count: -1}, 0, 0)},
		{errclass.Buffer, "", d.s.Send(core.Standard, core.Buffer{Mem: make([]byte, 15), Type: datatype.Int64, Count: 2}, 0, 0)},
		{errclass.Comm, "freed already", func() error {
			s := d.scope(6, 0, d.all)
			require.NoError(t, s.Close())
			_, err := s.Recv(room(1), 0, 0)
			assert.ErrorIs(t, err, errclass.Comm)
			assert.ErrorIs(t, s.Send(core.Standard, room(1), 0, 0), errclass.Comm)
			return s.Close()
		}()},
		{errclass.Request, "only persistent", func() error {
			r, err := d.s.Irecv(room(1), 0, 77)
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Cancel()); d.mustWait(r, nil) }()
			return r.Start()
		}()},
	} {
		require.ErrorIs(t, c.err, c.class)
		assert.ErrorContains(t, c.err, c.text)
	}
}

// Many messages without a receive take bounded memory, and then arrive complete and in order.
func TestFlood(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		const window = 64 << 10
		messages := 20_000
		if testing.Short() {
			messages = 5000
		}
		d := open(t, 2, method, core.Limits{WindowBytes: window})
		r, err := d[1].s.Irecv(room(0), 0, 1)
		require.NoError(t, err)
		require.NoError(t, d[0].s.Send(core.Synchronous, room(0), 1, 1), "so that the window is known")
		d[1].mustWait(r, nil)
		sent := make(chan error, 1)
		go func() {
			for i := range messages {
				b := mem(100, byte(i))
				if err := d[0].s.Send(core.Standard, b, 1, i); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		const most = window/164 + 1 // and the announcement of one more
		require.Eventually(t, func() bool { return d[1].e.Stats().EarlyNow == most }, limit, 1e6, "the window fills")
		for i := range messages {
			in := room(100)
			st, err := d[1].s.Recv(in, 0, core.AnyTag)
			require.NoError(t, err)
			require.Equal(t, i, st.Tag)
			require.Equal(t, mem(100, byte(i)).Mem, in.Mem)
			require.LessOrEqual(t, d[1].e.Stats().EarlyNow, most)
		}
		require.NoError(t, <-sent)
	})
}

func TestNoAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	d := open(t, 2, "via+shm", core.Limits{})
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		b := room(64)
		for {
			st, err := d[1].s.Recv(b, 0, core.AnyTag)
			if err != nil || st.Tag == 9 {
				return
			}
			_ = d[1].s.Send(core.Standard, core.Buffer{Mem: b.Mem[:st.Bytes]}, 0, 1)
		}
	}()
	b := room(64)
	assert.Less(t, testing.AllocsPerRun(2000, func() {
		_ = d[0].s.Send(core.Standard, b, 1, 1)
		_, _ = d[0].s.Recv(b, 1, 1)
	}), 0.1)
	assert.Less(t, testing.AllocsPerRun(2000, func() {
		r, _ := d[0].s.Irecv(b, 1, 1)
		s, _ := d[0].s.Isend(core.Standard, b, 1, 1)
		_, _ = s.Wait(context.Background())
		_, _ = r.Wait(context.Background())
	}), 0.1)
	require.NoError(t, d[0].s.Send(core.Standard, b, 1, 9))
	<-stop
}

func TestOverlappingReceive(t *testing.T) {
	d := open(t, 1, "via+shm", core.Limits{})[0]
	twice, err := datatype.Hvector(4, 1, 2, datatype.Int32) // every other byte twice
	require.NoError(t, err)
	_, err = d.s.Irecv(core.Buffer{Mem: make([]byte, 100), Type: twice, Count: 2}, 0, 1)
	require.ErrorIs(t, err, errclass.Type)
	s, err := d.s.Isend(core.Standard, core.Buffer{Mem: make([]byte, 100), Type: twice, Count: 2}, 0, 1)
	require.NoError(t, err, "it may be sent")
	d.mustWait(s, nil)
	_, err = d.s.Recv(room(32), 0, 1)
	require.NoError(t, err)
}

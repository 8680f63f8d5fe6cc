package core_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func TestPersistent(t *testing.T) {
	d := open(t, 2, "via+shm", core.Limits{})
	for _, n := range []int{8, 1 << 20} {
		out, in := mem(n, 0), room(n)
		s, err := d[0].s.SendInit(core.Standard, out, 1, 3)
		require.NoError(t, err)
		r, err := d[1].s.RecvInit(in, core.AnySource, 3)
		require.NoError(t, err)
		assert.Equal(t, core.Empty, d[0].mustWait(s, nil), "inactive")
		for i := range 20 {
			out.Mem[n-1] = byte(i)
			require.NoError(t, r.Start())
			assert.ErrorIs(t, r.Start(), errclass.Request, "active")
			require.NoError(t, s.Start())
			assert.Equal(t, n, d[1].mustWait(r, nil).Bytes)
			d[0].mustWait(s, nil)
			require.Equal(t, byte(i), in.Mem[n-1])
		}
		require.NoError(t, s.Free())
		require.NoError(t, r.Free())
		assert.ErrorIs(t, s.Free(), errclass.Request)
		assert.ErrorIs(t, s.Start(), errclass.Request)
	}
}

// A request whose end was reported is null, even if its memory is used for another.
func TestStaleRequest(t *testing.T) {
	d := open(t, 1, "via+shm", core.Limits{})[0]
	r, err := d.s.Irecv(room(1), 0, 1)
	require.NoError(t, err)
	require.NoError(t, d.s.Send(core.Standard, mem(1, 1), 0, 1))
	d.mustWait(r, nil)
	next, err := d.s.Irecv(room(1), 0, 2)
	require.NoError(t, err)
	st, ok, err := r.Test()
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, core.Empty, st)
	require.NoError(t, r.Cancel(), "it cancels nothing")
	_, ok, err = next.Test()
	require.NoError(t, err)
	assert.False(t, ok)
	require.NoError(t, next.Cancel())
	assert.True(t, d.mustWait(next, nil).Cancelled)
}

func TestCancelReceive(t *testing.T) {
	d := open(t, 2, "via+shm", core.Limits{})
	in := room(4)
	r, err := d[1].s.Irecv(in, 0, 1)
	require.NoError(t, err)
	require.NoError(t, r.Cancel())
	assert.True(t, d[1].mustWait(r, nil).Cancelled)
	require.NoError(t, d[0].s.Send(core.Standard, mem(4, 9), 1, 1))
	other := room(4)
	_, err = d[1].s.Recv(other, 0, 1)
	require.NoError(t, err)
	assert.Equal(t, mem(4, 9).Mem, other.Mem)
	assert.Equal(t, make([]byte, 4), in.Mem)
}

func TestCancelSend(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 2, method, core.Limits{})
		for _, n := range []int{8, 1 << 20} {
			s, err := d[0].s.Isend(core.Synchronous, mem(n, 0), 1, 1)
			require.NoError(t, err)
			_, err = d[1].s.Probe(context.Background(), 0, 1) // it is there, and no receive matches it
			require.NoError(t, err)
			require.NoError(t, s.Cancel())
			assert.True(t, d[0].mustWait(s, nil).Cancelled)
			_, ok, err := d[1].s.Iprobe(0, 1)
			require.NoError(t, err)
			assert.False(t, ok, "and it is gone")

			s, err = d[0].s.Isend(core.Synchronous, mem(n, 0), 1, 1)
			require.NoError(t, err)
			r, err := d[1].s.Irecv(room(n), 0, 1)
			require.NoError(t, err)
			done := make(chan core.Status)
			go func() { done <- d[0].mustWait(s, nil) }()
			d[1].mustWait(r, nil)
			require.NoError(t, s.Cancel(), "too late")
			assert.False(t, (<-done).Cancelled)
		}
	})
}

func TestProbes(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 2, method, core.Limits{})
		for _, n := range []int{8, 1 << 20} {
			for tag := range 3 {
				_, err := d[0].s.Isend(core.Standard, mem(n+tag, byte(tag)), 1, tag)
				require.NoError(t, err)
			}
			st, err := d[1].s.Probe(context.Background(), core.AnySource, 2)
			require.NoError(t, err)
			assert.Equal(t, core.Status{Source: 0, Tag: 2, Bytes: n + 2}, st)
			m, err := d[1].s.Mprobe(context.Background(), 0, core.AnyTag)
			require.NoError(t, err)
			assert.Equal(t, core.Status{Source: 0, Tag: 0, Bytes: n}, m.Status(), "the oldest")
			st, ok, err := d[1].s.Iprobe(0, core.AnyTag)
			require.NoError(t, err)
			assert.True(t, ok)
			assert.Equal(t, 1, st.Tag, "the other was taken out")
			done := make(chan struct{})
			go func() { // the sender makes progress
				defer close(done)
				assert.NoError(t, d[0].s.Send(core.Synchronous, room(0), 1, 9))
			}()
			in := room(n)
			_, err = m.Recv(context.Background(), in)
			require.NoError(t, err)
			assert.Equal(t, mem(n, 0).Mem, in.Mem)
			_, err = m.Recv(context.Background(), in)
			assert.ErrorIs(t, err, errclass.Request)
			for tag := 1; tag < 3; tag++ {
				_, err = d[1].s.Recv(room(n+tag), 0, tag)
				require.NoError(t, err)
			}
			_, err = d[1].s.Recv(room(0), 0, 9)
			require.NoError(t, err)
			<-done
			_, ok, err = d[1].s.Improbe(0, core.AnyTag)
			require.NoError(t, err)
			assert.False(t, ok)
		}
	})
}

func TestProbeWaits(t *testing.T) {
	d := open(t, 2, "via+shm", core.Limits{})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := d[1].s.Probe(ctx, 0, 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	got := make(chan core.Status)
	go func() {
		st, err := d[1].s.Probe(context.Background(), 0, 1)
		assert.NoError(t, err)
		got <- st
	}()
	require.NoError(t, d[0].s.Send(core.Standard, mem(3, 0), 1, 2))
	require.NoError(t, d[0].s.Send(core.Standard, mem(5, 0), 1, 1))
	assert.Equal(t, 5, (<-got).Bytes)
}

func TestWaitWithContext(t *testing.T) {
	d := open(t, 2, "via+shm", core.Limits{})
	r, err := d[1].s.Irecv(room(4), 0, 1)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err = r.Wait(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, d[0].s.Send(core.Standard, mem(4, 0), 1, 1))
	assert.Equal(t, 4, d[1].mustWait(r, nil).Bytes, "it went on")
}

func TestManyRequests(t *testing.T) {
	d := open(t, 2, "via+shm", core.Limits{})
	ctx := context.Background()
	post := func() []core.Request {
		rs := make([]core.Request, 5) // the last is null
		for tag := range 4 {
			var err error
			rs[tag], err = d[1].s.Irecv(room(tag), 0, tag)
			require.NoError(t, err)
		}
		return rs
	}
	send := func(n, tag int) { require.NoError(t, d[0].s.Send(core.Standard, mem(n, 0), 1, tag)) }

	rs := post()
	i, _, ok, err := d[1].e.TestAny(rs)
	require.NoError(t, err)
	assert.False(t, ok, "%d", i)
	send(2, 2)
	i, st, err := d[1].e.WaitAny(ctx, rs)
	require.NoError(t, err)
	assert.Equal(t, 2, i)
	assert.Equal(t, 2, st.Tag)
	ok, err = d[1].e.TestAll(rs, nil, nil)
	require.NoError(t, err)
	assert.False(t, ok)
	send(1, 0) // too long
	send(1, 1)
	statuses, errs := make([]core.Status, 5), make([]error, 5)
	var done []int
	for len(done) < 2 {
		done, err = d[1].e.WaitSome(ctx, rs, done, statuses, errs)
		if err != nil {
			assert.ErrorIs(t, err, errclass.InStatus)
			assert.ErrorIs(t, err, errclass.Truncate)
		}
	}
	assert.ElementsMatch(t, []int{0, 1}, done)
	assert.ErrorIs(t, errs[0], errclass.Truncate)
	assert.NoError(t, errs[1])
	assert.Equal(t, 1, statuses[1].Bytes)
	send(3, 3)
	require.NoError(t, d[1].e.WaitAll(ctx, rs, statuses, errs))
	assert.Equal(t, 3, statuses[3].Bytes)
	assert.Equal(t, core.Empty, statuses[0])
	i, st, err = d[1].e.WaitAny(ctx, rs)
	require.NoError(t, err)
	assert.Equal(t, -1, i, "none is left")
	assert.Equal(t, core.Empty, st)
	none, err := d[1].e.WaitSome(ctx, rs, nil, nil, nil)
	require.NoError(t, err)
	assert.Empty(t, none)
}

func TestGeneralizedRequest(t *testing.T) {
	d := open(t, 1, "via+shm", core.Limits{})[0]
	why := errors.New("because")
	cancelled := make(chan struct{})
	r, end := d.e.NewOp(func() { close(cancelled) })
	go func() { <-cancelled; end(core.Status{Bytes: 3, Cancelled: true}, why) }()
	_, ok, err := r.Test()
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, r.Cancel())
	st, err := d.wait(r, nil)
	require.ErrorIs(t, err, why)
	assert.Equal(t, core.Status{Bytes: 3, Cancelled: true}, st)
}

func TestFreedRequestsEndUnseen(t *testing.T) {
	d := open(t, 2, "via+shm", core.Limits{})
	s, err := d[0].s.Isend(core.Standard, mem(1<<20, 1), 1, 1)
	require.NoError(t, err)
	require.NoError(t, s.Free())
	// No call waits for it, although no receive is posted yet.
	assert.Equal(t, core.Empty, d[0].mustWait(s, nil))
	require.NoError(t, d[0].e.WaitAll(t.Context(), []core.Request{s}, nil, nil))
	ended, err := d[0].e.TestAll([]core.Request{s}, nil, nil)
	require.NoError(t, err)
	assert.True(t, ended)
	in := room(1 << 20)
	r, err := d[1].s.Irecv(in, 0, 1)
	require.NoError(t, err)
	closed := make(chan struct{})
	go func() { d[0].close(); close(closed) }() // waits for the send
	d[1].mustWait(r, nil)
	assert.Equal(t, mem(1<<20, 1).Mem, in.Mem)
	<-closed
}

// Many goroutines of one process, each with its own conversation.
func TestManyGoroutines(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 2, method, core.Limits{})
		const talkers = 8
		rounds := 200
		if testing.Short() {
			rounds = 40
		}
		ends := make(chan struct{}, 2*talkers)
		for tag := range talkers {
			for me := range 2 {
				go func() {
					defer func() { ends <- struct{}{} }()
					b := room(100 + 4000*tag)
					for i := range rounds {
						if (i+me)%2 == 0 {
							out := mem(len(b.Mem), byte(i))
							assert.NoError(t, d[me].s.Send(core.Standard, out, 1-me, tag))
							continue
						}
						_, err := d[me].s.Recv(b, 1-me, tag)
						assert.NoError(t, err)
						assert.Equal(t, byte(i), b.Mem[0])
					}
				}()
			}
		}
		for range 2 * talkers {
			select {
			case <-ends:
			case <-time.After(limit):
				require.Fail(t, "somebody hangs")
			}
		}
	})
}

package core_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A process dies: all operations that wait for it end, once, and the others go on.
func TestDeath(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 3, method, core.Limits{})
		failed := make(chan *core.Proc, 3)
		d[0].e.OnFailure(func(p *core.Proc, err error) { failed <- p })
		_, err := d[2].s.Isend(core.Standard, mem(4, 0), 0, 1)
		require.NoError(t, err)
		_, err = d[0].s.Recv(room(4), 2, 1)
		require.NoError(t, err)
		var rs []core.Request
		post := func(r core.Request, err error) {
			require.NoError(t, err)
			rs = append(rs, r)
		}
		post(d[0].s.Irecv(room(4), 2, 2))
		post(d[0].s.Irecv(room(4), core.AnySource, 3))
		post(d[0].s.Isend(core.Synchronous, mem(4, 0), 2, 4))
		post(d[0].s.Isend(core.Standard, mem(1<<20, 0), 2, 5))
		other, err := d[0].s.Irecv(room(4), 1, 2)
		require.NoError(t, err)
		d[2].kill()
		for i, r := range rs {
			want := errclass.ProcFailed
			if i == 1 {
				want = errclass.ProcFailedPending
			}
			_, err := d[0].wait(r, nil)
			require.ErrorIs(t, err, want, "request %d", i)
		}
		select {
		case p := <-failed:
			assert.Same(t, d[0].all[2], p)
		case <-time.After(limit):
			require.Fail(t, "nobody was told")
		}
		require.ErrorIs(t, d[0].all[2].Err(), errclass.ProcFailed)
		require.ErrorIs(t, d[0].s.Send(core.Standard, mem(4, 0), 2, 1), errclass.ProcFailed)
		_, err = d[0].s.Recv(room(4), 2, 1)
		require.ErrorIs(t, err, errclass.ProcFailed)
		_, err = d[0].s.Recv(room(4), core.AnySource, 1)
		require.ErrorIs(t, err, errclass.ProcFailedPending)
		_, err = d[0].s.Probe(context.Background(), core.AnySource, 1)
		require.ErrorIs(t, err, errclass.ProcFailedPending)

		require.NoError(t, d[1].s.Send(core.Standard, mem(4, 0), 0, 2))
		d[0].mustWait(other, nil)
		assert.Equal(t, []*core.Proc{d[0].all[2]}, d[0].s.Acknowledge())
		require.NoError(t, d[1].s.Send(core.Standard, mem(4, 0), 0, 2))
		_, err = d[0].s.Recv(room(4), core.AnySource, 2)
		require.NoError(t, err)
	})
}

// Messages that a process sent before it died are still received.
func TestLastWords(t *testing.T) {
	d := open(t, 2, "via+shm", core.Limits{})
	require.NoError(t, d[1].s.Send(core.Standard, mem(100, 5), 0, 1))
	_, err := d[1].s.Isend(core.Standard, mem(1<<20, 5), 0, 2)
	require.NoError(t, err)
	_, err = d[0].s.Probe(context.Background(), 1, 2)
	require.NoError(t, err)
	d[1].kill()
	require.Eventually(t, func() bool { d[0].e.Progress(); return d[0].all[1].Err() != nil }, limit, time.Millisecond)
	in := room(100)
	_, err = d[0].s.Recv(in, 1, 1)
	require.NoError(t, err)
	assert.Equal(t, mem(100, 5).Mem, in.Mem)
	_, err = d[0].s.Recv(room(1<<20), 1, 2)
	require.ErrorIs(t, err, errclass.ProcFailed, "this one is lost")
}

func TestLeavingInGoodOrder(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 2, method, core.Limits{})
		require.NoError(t, d[1].s.Send(core.Standard, mem(100, 5), 0, 1))
		r, err := d[0].s.Irecv(room(4), 1, 2)
		require.NoError(t, err)
		d[1].close()
		_, err = d[0].wait(r, nil)
		require.ErrorIs(t, err, errclass.ProcFailed)
		require.ErrorContains(t, err, "has finalized")
		_, err = d[0].s.Recv(room(100), 1, 1)
		require.NoError(t, err)
		assert.NoError(t, d[0].all[1].Err(), "it did not fail")
		assert.ErrorIs(t, d[1].s.Send(core.Standard, mem(1, 0), 0, 1), errclass.Other)
	})
}

func TestNobodyThere(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 2, method, core.Limits{})
		d[1].kill()
		start := time.Now()
		err := d[0].s.Send(core.Synchronous, mem(4, 0), 1, 1)
		require.ErrorIs(t, err, errclass.ProcFailed)
		assert.Less(t, time.Since(start), limit)
	})
}

// A receive does not wait for a process that died before it sent anything.
func TestNobodyToReceiveFrom(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 3, method, core.Limits{})
		d[1].kill()
		_, err := d[0].wait(d[0].s.Irecv(room(4), 1, 1))
		require.ErrorIs(t, err, errclass.ProcFailed)
		r, err := d[0].s.Irecv(room(4), 2, 1)
		require.NoError(t, err)
		d[2].kill()
		_, err = d[0].wait(r, nil)
		require.ErrorIs(t, err, errclass.ProcFailed)
	})
}

// Messages that arrived before a scope was revoked are not received afterwards: they would be taken
// for messages of another operation. They do not use up the window either.
func TestRevokedMessages(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		const length = 1000
		d := open(t, 2, method, core.Limits{WindowBytes: 1 << 14})
		for round := range 12 {
			from, to := d[1].s, d[0].s
			if round > 0 {
				id := core.ContextID(2 + 2*round)
				from, to = d[1].scope(id, 1, d[1].all), d[0].scope(id, 0, d[0].all)
			}
			for tag := range 4 {
				for _, dst := range []int{0, 1} {
					_, err := from.Isend(core.Standard, mem(length, 0), dst, tag)
					require.NoError(t, err)
				}
			}
			_, err := to.Probe(context.Background(), 1, 3)
			require.NoError(t, err)
			from.Revoke()
			to.Revoke()
			_, err = to.Recv(room(length), 1, 0)
			require.ErrorIs(t, err, errclass.Revoked)
			_, _, err = to.Iprobe(1, 0)
			require.ErrorIs(t, err, errclass.Revoked)
			_, _, err = to.Improbe(1, core.AnyTag)
			require.ErrorIs(t, err, errclass.Revoked)
			require.Eventually(t, func() bool {
				d[0].e.Progress()
				d[1].e.Progress()
				there, here := d[0].e.Stats(), d[1].e.Stats()
				return there.EarlyNow == 0 && here.EarlyNow == 0 && here.Sending == 0
			}, limit, time.Millisecond, "round %d", round)
		}
	})
}

// A scope that one process revokes cannot be used by any; other scopes can.
func TestRevoke(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 3, method, core.Limits{})
		var others []*core.Scope
		for rank := range d {
			others = append(others, d[rank].scope(4, rank, d[rank].all))
			require.NoError(t, d[rank].s.Send(core.Standard, mem(1, 0), (rank+1)%3, 1))
		}
		for rank := range d {
			_, err := d[rank].s.Recv(room(1), core.AnySource, 1)
			require.NoError(t, err)
		}
		var rs []core.Request
		for rank := 1; rank < 3; rank++ {
			for _, src := range []int{0, core.AnySource} {
				r, err := d[rank].s.Irecv(room(1), src, 2)
				require.NoError(t, err)
				rs = append(rs, r)
			}
		}
		d[0].s.Revoke()
		for _, r := range rs {
			_, err := d[0].wait(r, nil)
			require.ErrorIs(t, err, errclass.Revoked)
		}
		for rank := range d {
			assert.True(t, d[rank].s.Revoked())
			require.ErrorIs(t, d[rank].s.Send(core.Standard, mem(1, 0), 0, 1), errclass.Revoked)
			_, err := d[rank].s.Recv(room(1), 0, 1)
			require.ErrorIs(t, err, errclass.Revoked)
			_, _, err = d[rank].s.Iprobe(0, 1)
			require.ErrorIs(t, err, errclass.Revoked)
		}
		require.NoError(t, others[0].Send(core.Standard, mem(1, 0), 1, 1))
		_, err := others[1].Recv(room(1), 0, 1)
		require.NoError(t, err)
	})
}

// In a scope that one process broke because of a failure, common operations end, also in processes
// that open it later. Others go on until it is revoked.
func TestBreak(t *testing.T) {
	each(t, func(t *testing.T, method string) {
		d := open(t, 4, method, core.Limits{})
		var late []*core.Scope
		for rank := range d {
			if rank < 2 {
				late = append(late, d[rank].scope(4, rank, d[rank].all))
			}
			require.NoError(t, d[rank].s.Send(core.Standard, mem(1, 0), (rank+1)%4, 1))
			_, err := d[(rank+1)%4].s.Recv(room(1), core.AnySource, 1)
			require.NoError(t, err)
		}
		waiting, err := d[1].s.Irecv(room(1), 0, 2)
		require.NoError(t, err)
		other, err := d[1].s.Irecv(room(1), 0, core.CommonTags)
		require.NoError(t, err)
		failure := errclass.New(errclass.ProcFailed, "so it is")
		d[0].s.Break(failure)
		require.NoError(t, d[0].s.Send(core.Standard, mem(1, 0), 2, 1), "nobody has failed")

		d[3].kill()
		_, err = d[0].s.Recv(room(1), 3, 1)
		require.ErrorIs(t, err, errclass.ProcFailed)
		d[0].s.Break(failure)
		late[0].Break(failure)
		_, err = d[1].wait(waiting, nil)
		require.ErrorIs(t, err, errclass.ProcFailed)
		_, err = d[0].s.Recv(room(1), 1, 2)
		require.ErrorIs(t, err, failure)
		require.ErrorIs(t, d[1].s.Send(core.Standard, mem(1, 0), 2, 1), errclass.ProcFailed)
		require.NoError(t, d[0].s.Send(core.Standard, mem(1, 0), 1, core.CommonTags))
		_, err = d[1].wait(other, nil)
		require.NoError(t, err)

		require.NoError(t, d[0].s.Send(core.Standard, mem(1, 0), 2, core.CommonTags)) // after the news
		_, err = d[2].s.Recv(room(1), 0, core.CommonTags)
		require.NoError(t, err)
		late = append(late, d[2].scope(4, 2, d[2].all))
		for _, s := range late {
			_, err = s.Recv(room(1), 1, 1)
			require.ErrorIs(t, err, errclass.ProcFailed)
			assert.False(t, s.Revoked())
		}
		require.NoError(t, late[2].Close())
		again := d[2].scope(4, 2, d[2].all)
		require.NoError(t, again.Send(core.Standard, mem(1, 0), 1, 1), "another communicator, with the context of one that was broken")
		d[2].s.Revoke()
		_, err = d[0].wait(d[0].s.Irecv(room(1), 2, core.CommonTags))
		require.ErrorIs(t, err, errclass.Revoked)
		require.ErrorIs(t, d[0].s.Send(core.Standard, mem(1, 0), 1, 1), errclass.Revoked)
	})
}

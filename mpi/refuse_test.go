package mpi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// A call is a call that names another rank and a tag.
type call struct {
	name string // its name for a hook
	run  func(c *mpi.Comm, peer, tag int) error
}

// withStatus and withRequest keep the error of a call with more results.
func withStatus(f func() (mpi.Status, error)) error {
	_, err := f()
	return err
}

func withRequest(f func() (mpi.Request, error)) error {
	_, err := f()
	return err
}

// dataCalls returns all calls that move elements of type T.
func dataCalls[T any](xs []T) []call {
	type c = mpi.Comm
	request := func(f func(*c, []T, int, int) (mpi.Request, error)) func(*c, int, int) error {
		return func(w *c, peer, tag int) error {
			return withRequest(func() (mpi.Request, error) { return f(w, xs, peer, tag) })
		}
	}
	plain := func(f func(*c, []T, int, int) error) func(*c, int, int) error {
		return func(w *c, peer, tag int) error { return f(w, xs, peer, tag) }
	}
	return []call{
		{"MPI_Send", plain(mpi.Send[T])}, {"MPI_Ssend", plain(mpi.Ssend[T])},
		{"MPI_Rsend", plain(mpi.Rsend[T])}, {"MPI_Bsend", plain(mpi.Bsend[T])},
		{"MPI_Isend", request(mpi.Isend[T])}, {"MPI_Issend", request(mpi.Issend[T])},
		{"MPI_Irsend", request(mpi.Irsend[T])}, {"MPI_Ibsend", request(mpi.Ibsend[T])},
		{"MPI_Send_init", request(mpi.SendInit[T])}, {"MPI_Ssend_init", request(mpi.SsendInit[T])},
		{"MPI_Rsend_init", request(mpi.RsendInit[T])}, {"MPI_Bsend_init", request(mpi.BsendInit[T])},
		{"MPI_Irecv", request(mpi.Irecv[T])}, {"MPI_Recv_init", request(mpi.RecvInit[T])},
		{"MPI_Recv", func(w *c, peer, tag int) error {
			return withStatus(func() (mpi.Status, error) { return mpi.Recv(w, xs, peer, tag) })
		}},
		{"MPI_Sendrecv", func(w *c, peer, tag int) error {
			return withStatus(func() (mpi.Status, error) { return mpi.Sendrecv(w, xs, peer, tag, xs, peer, tag) })
		}},
		{"MPI_Sendrecv", func(w *c, peer, tag int) error {
			return withStatus(func() (mpi.Status, error) { return mpi.Sendrecv(w, []int{1}, peer, tag, xs, peer, tag) })
		}},
		{"MPI_Sendrecv_replace", func(w *c, peer, tag int) error {
			return withStatus(func() (mpi.Status, error) { return mpi.SendrecvReplace(w, xs, peer, tag, peer, tag) })
		}},
		{"MPI_Isendrecv", func(w *c, peer, tag int) error {
			return withRequest(func() (mpi.Request, error) { return mpi.Isendrecv(w, xs, peer, tag, xs, peer, tag) })
		}},
		{"MPI_Isendrecv", func(w *c, peer, tag int) error {
			return withRequest(func() (mpi.Request, error) { return mpi.Isendrecv(w, []int{1}, peer, tag, xs, peer, tag) })
		}},
		{"MPI_Isendrecv_replace", func(w *c, peer, tag int) error {
			return withRequest(func() (mpi.Request, error) { return mpi.IsendrecvReplace(w, xs, peer, tag, peer, tag) })
		}},
	}
}

// lookCalls returns the calls that look for messages.
func lookCalls() []call {
	type c = mpi.Comm
	return []call{
		{"MPI_Probe", func(w *c, peer, tag int) error {
			return withStatus(func() (mpi.Status, error) { return w.Probe(peer, tag) })
		}},
		{"MPI_Iprobe", func(w *c, peer, tag int) error { _, _, err := w.Iprobe(peer, tag); return err }},
		{"MPI_Mprobe", func(w *c, peer, tag int) error { _, _, err := w.Mprobe(peer, tag); return err }},
		{"MPI_Improbe", func(w *c, peer, tag int) error { _, _, _, err := w.Improbe(peer, tag); return err }},
	}
}

// TestEveryCallRefuses: every call refuses every kind of bad argument, with one call of the hook
// and one of the error handler.
func TestEveryCallRefuses(t *testing.T) {
	h := &hook{t: t}
	o := mpitest.Options{Each: func(_ int, o *mpi.Options) { o.Hook = h }}
	mpitest.Run(t, 1, o, func(t *testing.T, p *mpi.Process) {
		freed, err := p.World().Dup()
		require.NoError(t, err)
		handled := 0
		require.NoError(t, p.World().SetErrorHandler(func(*mpi.Comm, error) { handled++ }))
		require.NoError(t, freed.Free())
		numbers := append(dataCalls([]int{1}), lookCalls()...)
		for _, bad := range []struct {
			calls     []call
			comm      *mpi.Comm
			peer, tag int
			class     mpi.ErrorClass
			tells     string
		}{
			{numbers, nil, 0, 0, mpi.ErrComm, "nil"},
			{numbers, freed, 0, 0, mpi.ErrComm, "freed"},
			{numbers, p.World(), 1, 0, mpi.ErrRank, "rank 1"},
			{numbers, p.World(), -77, 0, mpi.ErrRank, "rank -77"},
			{numbers, p.World(), 0, -77, mpi.ErrTag, "tag -77"},
			{numbers, p.World(), 0, mpi.TagUB + 1, mpi.ErrTag, "268435456"},
			{dataCalls([]string{""}), p.World(), 0, 0, mpi.ErrType, "string"},
			{dataCalls([]any{1}), p.World(), 0, 0, mpi.ErrType, ""},
			{dataCalls([]struct{ P *int }{{}}), p.World(), 0, 0, mpi.ErrType, ""},
			{dataCalls([]string{""}), nil, 0, 0, mpi.ErrComm, "nil"},
			{dataCalls([]string{""}), freed, 0, 0, mpi.ErrComm, "freed"},
		} {
			for _, c := range bad.calls {
				entered, left, before := h.entered.Load(), h.left.Load(), handled
				err := c.run(bad.comm, bad.peer, bad.tag)
				require.ErrorIs(t, err, bad.class, "%s to %d with tag %d", c.name, bad.peer, bad.tag)
				require.ErrorContains(t, err, bad.tells, c.name)
				require.True(t, strings.HasPrefix(err.Error(), "mpi: MPI_ERR_"), "%v", err)
				if bad.comm == nil {
					require.Equal(t, entered, h.entered.Load(), "%s has no process whose hook it could call", c.name)
					continue
				}
				require.Equal(t, entered+1, h.entered.Load(), c.name)
				require.Equal(t, left+1, h.left.Load(), c.name)
				require.Equal(t, c.name, h.last.Load().Name)
				if bad.comm == p.World() {
					require.Equal(t, before+1, handled, c.name)
				}
			}
		}
		require.NoError(t, p.World().SetErrorHandler(nil))
		var m *mpi.Message
		require.NoError(t, mpi.Send(p.Self(), []int{1}, 0, 0))
		m, _, err = p.Self().Mprobe(0, 0)
		require.NoError(t, err)
		_, err = mpi.Mrecv(m, []string{""})
		fails(t, err, mpi.ErrType, "string")
		_, err = mpi.Imrecv(m, []string{""})
		fails(t, err, mpi.ErrType, "string")
		_, err = mpi.Mrecv(m, []int{1})
		require.NoError(t, err)
	})
}

// TestBuffersOfComms: a communicator's own buffer is used instead of the process's.
func TestBuffersOfComms(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s, w, x := p.Self(), p.World(), make([]byte, 10)
		require.NoError(t, s.AttachBuffer(make([]byte, 10+mpi.BsendOverhead)))
		require.NoError(t, mpi.Bsend(s, x, 0, 0))
		fails(t, mpi.Bsend(w, x, 0, 0), mpi.ErrBuffer, "attach one")
		fails(t, mpi.Bsend(s, make([]byte, 11), 0, 0), mpi.ErrBuffer, "11 bytes")
		require.NoError(t, p.AttachBufferAutomatic())
		fails(t, mpi.Bsend(s, make([]byte, 11), 0, 0), mpi.ErrBuffer, "11 bytes")
		require.NoError(t, mpi.Bsend(w, make([]byte, 11), 0, 0))
		for _, c := range []*mpi.Comm{s, w} {
			_, err := mpi.Recv(c, make([]byte, 11), 0, 0)
			require.NoError(t, err)
		}
		require.NoError(t, s.FlushBuffer(t.Context()))
		mem, err := s.DetachBuffer(t.Context())
		require.NoError(t, err)
		assert.Len(t, mem, 10+mpi.BsendOverhead)
		fails(t, s.FlushBuffer(t.Context()), mpi.ErrBuffer, "no buffer")
		bad := mpi.Buffer{Mem: x, Type: nil}
		bad.Type, err = typeOfPairs()
		require.NoError(t, err)
		bad.Count = 100
		fails(t, w.BsendBuffer(bad, 0, 0), mpi.ErrBuffer, "")
		_, err = w.BsendInitBuffer(bad, 0, 0)
		fails(t, err, mpi.ErrBuffer, "")
		_, err = w.IsendrecvReplaceBuffer(bad, 0, 0, 0, 0)
		fails(t, err, mpi.ErrBuffer, "")
		_, err = w.IsendrecvBuffer(bad, 0, 0, mpi.Buffer{Mem: x}, 0, 0)
		fails(t, err, mpi.ErrBuffer, "")
		_, there, err := w.Iprobe(mpi.AnySource, mpi.AnyTag)
		require.NoError(t, err)
		assert.False(t, there)
		assert.Zero(t, p.Engine().Stats().Posted, "the half that was posted is taken back")
		c, err := w.Dup()
		require.NoError(t, err)
		require.NoError(t, c.Free())
		fails(t, c.AttachBuffer(nil), mpi.ErrComm, "freed")
		fails(t, c.AttachBufferAutomatic(), mpi.ErrComm, "freed")
		fails(t, c.FlushBuffer(t.Context()), mpi.ErrComm, "freed")
		_, err = c.DetachBuffer(t.Context())
		fails(t, err, mpi.ErrComm, "freed")
	})
}

// TestPeekAll looks at requests, and leaves them.
func TestPeekAll(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		reqs, statuses := posted(t, p.Self(), 2), make([]mpi.Status, 4)
		give(t, p.Self(), 0)
		done, err := mpi.PeekAll(reqs, statuses)
		require.NoError(t, err)
		assert.False(t, done)
		require.NoError(t, mpi.Send(p.Self(), []int{1, 2}, 0, 1))
		for range 2 {
			done, err = mpi.PeekAll(reqs, statuses)
			assert.True(t, done)
			fails(t, err, mpi.ErrInStatus, "request 2")
			assert.Equal(t, 1, statuses[2].Tag)
		}
		_, err = mpi.PeekAll(reqs, statuses[:1])
		fails(t, err, mpi.ErrArg, "1 statuses")
		assert.Error(t, mpi.WaitAll(reqs...))
	})
}

package mpi_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// A call is a call that names another rank and a tag. Either now or begin is nil.
type call struct {
	name  string // its name for a hook
	now   func(c *mpi.Comm, peer, tag int) error
	begin func(c *mpi.Comm, peer, tag int) mpi.Request
}

// status keeps the error of a call with more results.
func status(_ mpi.Status, err error) error { return err }

// dataCalls returns all calls that move elements of type T. bounded is a context that may end.
func dataCalls[T any](bounded context.Context, xs []T) []call {
	type c = mpi.Comm
	b, one := mpi.Slice(xs), mpi.Value(new(int))
	calls := []call{
		{name: "MPI_Irecv", begin: func(w *c, peer, tag int) mpi.Request { return w.Irecv(b, peer, tag) }},
		{name: "MPI_Recv_init", begin: func(w *c, peer, tag int) mpi.Request { return w.Irecv(b, peer, tag, mpi.Persistent) }},
		{name: "MPI_Recv", now: func(w *c, peer, tag int) error { return status(w.Recv(bg, b, peer, tag)) }},
		{name: "MPI_Recv", now: func(w *c, peer, tag int) error { return status(w.Recv(bounded, b, peer, tag)) }},
		{name: "MPI_Sendrecv", now: func(w *c, peer, tag int) error {
			return status(w.Sendrecv(bg, b, peer, tag, b, peer, tag))
		}},
		{name: "MPI_Sendrecv", now: func(w *c, peer, tag int) error {
			return status(w.Sendrecv(bounded, one, peer, tag, b, peer, tag))
		}},
		{name: "MPI_Sendrecv_replace", now: func(w *c, peer, tag int) error {
			return status(w.Sendrecv(bg, b, peer, tag, mpi.InPlace, peer, tag))
		}},
		{name: "MPI_Isendrecv", begin: func(w *c, peer, tag int) mpi.Request {
			return w.Isendrecv(b, peer, tag, b, peer, tag)
		}},
		{name: "MPI_Isendrecv", begin: func(w *c, peer, tag int) mpi.Request {
			return w.Isendrecv(one, peer, tag, b, peer, tag)
		}},
		{name: "MPI_Isendrecv_replace", begin: func(w *c, peer, tag int) mpi.Request {
			return w.Isendrecv(b, peer, tag, mpi.InPlace, peer, tag)
		}},
	}
	for prefix, how := range map[string][]mpi.Mode{"": nil, "s": {mpi.Synchronous}, "r": {mpi.Ready}, "b": {mpi.Buffered}} {
		again := append([]mpi.Mode{mpi.Persistent}, how...)
		calls = append(calls,
			call{name: capital(prefix + "send"), now: func(w *c, peer, tag int) error { return w.Send(bg, b, peer, tag, how...) }},
			call{name: capital(prefix + "send"), now: func(w *c, peer, tag int) error { return w.Send(bounded, b, peer, tag, how...) }},
			call{name: "MPI_I" + prefix + "send", begin: func(w *c, peer, tag int) mpi.Request { return w.Isend(b, peer, tag, how...) }},
			call{name: capital(prefix + "send_init"), begin: func(w *c, peer, tag int) mpi.Request { return w.Isend(b, peer, tag, again...) }})
	}
	return calls
}

// capital returns the standard's name of a call.
func capital(name string) string { return "MPI_" + strings.ToUpper(name[:1]) + name[1:] }

// lookCalls returns all calls that look for a message.
func lookCalls() []call {
	type c = mpi.Comm
	return []call{
		{name: "MPI_Probe", now: func(w *c, peer, tag int) error { return status(w.Probe(bg, peer, tag)) }},
		{name: "MPI_Iprobe", now: func(w *c, peer, tag int) error { _, _, err := w.Iprobe(peer, tag); return err }},
		{name: "MPI_Mprobe", now: func(w *c, peer, tag int) error { _, _, err := w.Mprobe(bg, peer, tag); return err }},
		{name: "MPI_Improbe", now: func(w *c, peer, tag int) error { _, _, _, err := w.Improbe(peer, tag); return err }},
	}
}

// TestEveryCallRefuses: every call refuses every kind of bad argument, with one call of the hook
// and one of the error handler. For calls that return a Request, Wait calls the error handler.
func TestEveryCallRefuses(t *testing.T) {
	h := &hook{t: t}
	o := mpitest.Options{Each: func(_ int, o *mpi.Options) { o.Hook = h }}
	mpitest.Run(t, 1, o, func(t *testing.T, p *mpi.Process) {
		freed, err := p.World().Dup(bg)
		require.NoError(t, err)
		handled := 0
		require.NoError(t, p.World().SetErrorHandler(func(*mpi.Comm, error) { handled++ }))
		require.NoError(t, freed.Free())
		numbers := append(dataCalls(t.Context(), []int{1}), lookCalls()...)
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
			{dataCalls(t.Context(), []string{""}), p.World(), 0, 0, mpi.ErrType, "string"},
			{dataCalls(t.Context(), []any{1}), p.World(), 0, 0, mpi.ErrType, ""},
			{dataCalls(t.Context(), []struct{ P *int }{{}}), p.World(), 0, 0, mpi.ErrType, ""},
			{dataCalls(t.Context(), []string{""}), nil, 0, 0, mpi.ErrComm, "nil"},
			{dataCalls(t.Context(), []string{""}), freed, 0, 0, mpi.ErrComm, "freed"},
		} {
			for _, c := range bad.calls {
				entered, before := h.entered.Load(), handled
				// seen checks what the hook and the error handler have seen since.
				seen := func(calls int64, last string, errors int) {
					t.Helper()
					if bad.comm == nil {
						require.Equal(t, entered, h.entered.Load(), "%s has no process whose hook it could call", c.name)
						return
					}
					require.Equal(t, entered+calls, h.entered.Load(), c.name)
					require.Equal(t, h.entered.Load(), h.left.Load(), c.name)
					require.Equal(t, last, h.last.Load().Name)
					if bad.comm == p.World() {
						require.Equal(t, before+errors, handled, c.name)
					}
				}
				var err error
				if c.now != nil {
					err = c.now(bad.comm, bad.peer, bad.tag)
					seen(1, c.name, 1)
				} else {
					r := c.begin(bad.comm, bad.peer, bad.tag)
					seen(1, c.name, 0)
					_, err = r.Wait(bg)
					seen(2, "MPI_Wait", 1)
				}
				require.ErrorIs(t, err, bad.class, "%s to %d with tag %d", c.name, bad.peer, bad.tag)
				require.ErrorContains(t, err, bad.tells, c.name)
				require.True(t, strings.HasPrefix(err.Error(), "mpi: MPI_ERR_"), "%v", err)
			}
		}
		require.NoError(t, p.World().SetErrorHandler(nil))
		var m *mpi.Message
		require.NoError(t, p.Self().Send(bg, mpi.Slice([]int{1}), 0, 0))
		m, _, err = p.Self().Mprobe(bg, 0, 0)
		require.NoError(t, err)
		_, err = m.Recv(bg, mpi.Slice([]string{""}))
		fails(t, err, mpi.ErrType, "string")
		_, err = m.Irecv(mpi.Slice([]string{""})).Wait(bg)
		fails(t, err, mpi.ErrType, "string")
		_, err = m.Recv(bg, mpi.Slice([]int{1}))
		require.NoError(t, err)
	})
}

// TestBuffersOfComms: a communicator's own buffer is used instead of World's.
func TestBuffersOfComms(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s, w, x := p.Self(), p.World(), make([]byte, 10)
		require.NoError(t, s.AttachBuffer(make([]byte, 10+mpi.BsendOverhead)))
		require.NoError(t, s.Send(bg, mpi.Slice(x), 0, 0, mpi.Buffered))
		fails(t, w.Send(bg, mpi.Slice(x), 0, 0, mpi.Buffered), mpi.ErrBuffer, "attach one")
		fails(t, s.Send(bg, mpi.Slice(make([]byte, 11)), 0, 0, mpi.Buffered), mpi.ErrBuffer, "11 bytes")
		require.NoError(t, p.World().AttachBuffer(nil))
		fails(t, s.Send(bg, mpi.Slice(make([]byte, 11)), 0, 0, mpi.Buffered), mpi.ErrBuffer, "11 bytes")
		require.NoError(t, w.Send(bg, mpi.Slice(make([]byte, 11)), 0, 0, mpi.Buffered))
		for _, c := range []*mpi.Comm{s, w} {
			_, err := c.Recv(bg, mpi.Slice(make([]byte, 11)), 0, 0)
			require.NoError(t, err)
		}
		require.NoError(t, s.FlushBuffer(t.Context()))
		mem, err := s.DetachBuffer(t.Context())
		require.NoError(t, err)
		assert.Len(t, mem, 10+mpi.BsendOverhead)
		fails(t, s.FlushBuffer(t.Context()), mpi.ErrBuffer, "no buffer")
		pairs, err := typeOfPairs()
		require.NoError(t, err)
		bad := mpi.Typed(x, 0, 100, pairs)
		fails(t, w.Send(bg, bad, 0, 0, mpi.Buffered), mpi.ErrBuffer, "")
		_, err = w.Isend(bad, 0, 0, mpi.Buffered, mpi.Persistent).Wait(bg)
		fails(t, err, mpi.ErrBuffer, "")
		_, err = w.Isendrecv(bad, 0, 0, mpi.InPlace, 0, 0).Wait(bg)
		fails(t, err, mpi.ErrBuffer, "")
		_, err = w.Isendrecv(bad, 0, 0, mpi.Slice(x), 0, 0).Wait(bg)
		fails(t, err, mpi.ErrBuffer, "")
		_, there, err := w.Iprobe(mpi.AnySource, mpi.AnyTag)
		require.NoError(t, err)
		assert.False(t, there)
		assert.Zero(t, mpi.EngineOf(p).Stats().Posted, "the half that was posted is taken back")
		c, err := w.Dup(bg)
		require.NoError(t, err)
		require.NoError(t, c.Free())
		fails(t, c.AttachBuffer(x), mpi.ErrComm, "freed")
		fails(t, c.AttachBuffer(nil), mpi.ErrComm, "freed")
		fails(t, c.FlushBuffer(t.Context()), mpi.ErrComm, "freed")
		_, err = c.DetachBuffer(t.Context())
		fails(t, err, mpi.ErrComm, "freed")
	})
}

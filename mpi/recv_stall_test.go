package mpi_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// largeBytes is too much for an eager message.
const largeBytes = 1 << 20

func filled(b byte) []byte { return slices.Repeat([]byte{b}, largeBytes) }

// stalls runs a job of two ranks. Rank 1 sends two large messages with tag 1, filled with 7 and 8.
// It announces the first one and then stalls until receive, which runs on rank 0, closes goOn.
func stalls(t *testing.T, late time.Duration, receive func(t *testing.T, p *mpi.Process, goOn chan struct{})) {
	goOn := make(chan struct{})
	each := func(rank int, o *mpi.Options) {
		o.Endpoint.Manual = rank == 1 // it does nothing by itself
		o.Limits.LateTimeMax = late
	}
	mpitest.Run(t, 2, mpitest.Options{Leave: true, Each: each}, func(t *testing.T, p *mpi.Process) {
		defer mpitest.Kill(p)
		if p.World().Rank() == 0 {
			receive(t, p, goOn)
			return
		}
		first := p.World().Isend(mpi.Slice(filled(7)), 0, 1)
		mpi.EngineOf(p).Progress()
		<-goOn
		second := p.World().Isend(mpi.Slice(filled(8)), 0, 1)
		for _, r := range []mpi.Request{first, second} {
			for done := false; !done; time.Sleep(50 * time.Microsecond) {
				var err error
				_, done, err = r.Test()
				require.NoError(t, err)
			}
		}
	})
}

// receives are the ways to receive a message with a context.
var receives = map[string]func(ctx context.Context, w *mpi.Comm, xs []byte) (mpi.Status, error){
	"Recv": func(ctx context.Context, w *mpi.Comm, xs []byte) (mpi.Status, error) {
		return w.Recv(ctx, mpi.Slice(xs), 1, 1)
	},
	"Mprobe and Recv": func(ctx context.Context, w *mpi.Comm, xs []byte) (mpi.Status, error) {
		m, st, err := w.Mprobe(bg, 1, 1)
		if err != nil {
			return st, err
		}
		return m.Recv(ctx, mpi.Slice(xs))
	},
}

// TestRecvContextFromStalled: a receive ends soon after its context although its message has begun
// to move and the sender has stalled. Later data does not change the caller's memory, and the two
// processes can still communicate.
func TestRecvContextFromStalled(t *testing.T) {
	for name, late := range map[string]time.Duration{"waits a little": time.Millisecond, "does not wait": -1} {
		for how, receive := range receives {
			t.Run(name+"/"+how, func(t *testing.T) {
				stalls(t, late, func(t *testing.T, p *mpi.Process, goOn chan struct{}) {
					w, xs := p.World(), make([]byte, largeBytes)
					_, err := w.Probe(bg, 1, 1)
					require.NoError(t, err)
					ctx, cancel := context.WithCancel(t.Context())
					go cancel()
					_, err = receive(ctx, w, xs)
					require.ErrorIs(t, err, context.Canceled)
					copy(xs, filled(9))
					close(goOn)
					again := make([]byte, largeBytes)
					st, err := receive(t.Context(), w, again)
					require.NoError(t, err)
					assert.Equal(t, largeBytes, st.Bytes)
					assert.True(t, slices.Equal(filled(8), again))
					require.NoError(t, mpi.EngineOf(p).Close(t.Context()), "all that was granted has moved")
					assert.True(t, slices.Equal(filled(9), xs), "the memory is the caller's")
				})
			})
		}
	}
}

// TestRecvContextFromSlow: a message that was moving when the context ended is received if it
// comes soon.
func TestRecvContextFromSlow(t *testing.T) {
	for how, receive := range receives {
		t.Run(how, func(t *testing.T) {
			stalls(t, time.Minute, func(t *testing.T, p *mpi.Process, goOn chan struct{}) {
				w, xs := p.World(), make([]byte, largeBytes)
				_, err := w.Probe(bg, 1, 1)
				require.NoError(t, err)
				time.AfterFunc(10*time.Millisecond, func() { close(goOn) }) // by then the receive usually waits
				_, err = receive(ended(), w, xs)
				require.NoError(t, err)
				assert.True(t, slices.Equal(filled(7), xs))
				_, err = receive(t.Context(), w, xs)
				require.NoError(t, err)
				assert.True(t, slices.Equal(filled(8), xs))
			})
		})
	}
}

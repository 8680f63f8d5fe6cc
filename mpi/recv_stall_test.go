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
		first, err := mpi.Isend(p.World(), filled(7), 0, 1)
		require.NoError(t, err)
		p.Engine().Progress()
		<-goOn
		second, err := mpi.Isend(p.World(), filled(8), 0, 1)
		require.NoError(t, err)
		for _, r := range []mpi.Request{first, second} {
			for done := false; !done; time.Sleep(50 * time.Microsecond) {
				_, done, err = r.Test()
				require.NoError(t, err)
			}
		}
	})
}

// TestRecvContextFromStalled: a receive ends soon after its context although its message has begun
// to move and the sender has stalled. Later data does not change the caller's memory, and the two
// processes can still communicate.
func TestRecvContextFromStalled(t *testing.T) {
	for name, late := range map[string]time.Duration{"waits a little": time.Millisecond, "does not wait": -1} {
		t.Run(name, func(t *testing.T) {
			stalls(t, late, func(t *testing.T, p *mpi.Process, goOn chan struct{}) {
				w, xs := p.World(), make([]byte, largeBytes)
				_, err := w.Probe(1, 1)
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				_, err = mpi.RecvContext(ctx, w, xs, 1, 1)
				require.ErrorIs(t, err, context.Canceled)
				copy(xs, filled(9))
				close(goOn)
				again := make([]byte, largeBytes)
				st, err := mpi.RecvContext(t.Context(), w, again, 1, 1)
				require.NoError(t, err)
				assert.Equal(t, largeBytes, st.Bytes)
				assert.True(t, slices.Equal(filled(8), again))
				require.NoError(t, p.Engine().Close(t.Context()), "all that was granted has moved")
				assert.True(t, slices.Equal(filled(9), xs), "the memory is the caller's")
			})
		})
	}
}

// TestRecvContextFromSlow: a message that was moving when the context ended is received if it
// comes soon.
func TestRecvContextFromSlow(t *testing.T) {
	stalls(t, time.Minute, func(t *testing.T, p *mpi.Process, goOn chan struct{}) {
		w, xs := p.World(), make([]byte, largeBytes)
		_, err := w.Probe(1, 1)
		require.NoError(t, err)
		time.AfterFunc(10*time.Millisecond, func() { close(goOn) }) // by then the receive usually waits
		_, err = mpi.RecvContext(ended(), w, xs, 1, 1)
		require.NoError(t, err)
		assert.True(t, slices.Equal(filled(7), xs))
		_, err = mpi.RecvContext(t.Context(), w, xs, 1, 1)
		require.NoError(t, err)
		assert.True(t, slices.Equal(filled(8), xs))
	})
}

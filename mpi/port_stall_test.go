package mpi

import (
	"context"
	"encoding/binary"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// lone returns a job of one process over memory. A stalled one does nothing by itself.
func lone(t *testing.T, stalled bool) *Process {
	boots, err := boot.Local(1)
	require.NoError(t, err)
	o := Options{Boot: boots[0], Method: "mem"}
	o.Endpoint.Manual = stalled
	p, err := Init(t.Context(), o)
	require.NoError(t, err)
	return p
}

// TestJoinStalled: two groups have met, and then the other one stalls. The call ends with its
// context.
func TestJoinStalled(t *testing.T) {
	p, other := lone(t, false), lone(t, true)
	ours, theirs := net.Pipe()
	led := make(chan struct{})
	go func() { // the other group's leader, until it has nothing to send
		defer close(led)
		said, err := appendMeeting(nil, agreementKey{leader: other.engine.Self().Card().ID}, other.self.group)
		if !assert.NoError(t, err) {
			return
		}
		for {
			heard, err := readFrame(theirs, meetingBytesMax)
			if err != nil {
				return
			}
			if said == nil {
				said = heard // the mask of contexts: all are free
			}
			if _, err = theirs.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(said))), said...)); err != nil {
				return
			}
			said = nil
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	joined := make(chan error, 1)
	go func() {
		_, err := p.Join(ctx, ours)
		joined <- err
	}()
	// Once the other group's messages have arrived, it stalls.
	for limit := time.Now().Add(time.Minute); other.engine.Stats().EarlyNow == 0; runtime.Gosched() {
		require.True(t, time.Now().Before(limit))
		other.engine.Progress()
	}
	cancel()
	select {
	case err := <-joined:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(time.Minute):
		assert.Fail(t, "it waits for ever")
	}
	require.NoError(t, ours.Close())
	require.NoError(t, theirs.Close())
	<-led
	require.NoError(t, other.ep.Shutdown(ctx))
	require.NoError(t, p.Finalize(t.Context()))
}

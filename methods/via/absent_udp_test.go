package via_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via"
)

// postUDP sends an unexpected message to an address from an endpoint of its own.
func postUDP(t *testing.T, opts via.Options, to string) *bmi.Context {
	ep, err := bmi.Open(t.Context(), bmi.Config{Options: map[string]any{"via+udp": opts}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ep.Close()) })
	addr, err := ep.Lookup("via+udp://" + to)
	require.NoError(t, err)
	c, err := ep.OpenContext()
	require.NoError(t, err)
	p, err := c.PostSendUnexpected(addr, 0, 1, []byte("hello"), nil)
	require.NoError(t, err)
	require.False(t, p.Done)
	return c
}

// TestUDPNobodyThere: a send to a port where no endpoint listens fails at once, as over
// shared memory and TCP.
func TestUDPNobodyThere(t *testing.T) {
	t.Setenv("VIADUCT_UDP_INSECURE", "1")
	start := time.Now()
	c := postUDP(t, via.Options{}, freeport.UDPAddress(t))
	var done [1]bmi.Completion
	n, err := c.TestContext(done[:], wallclock.Patience)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.ErrorIs(t, done[0].Err, bmi.ErrUnreachable)
	wallclock.Under(t, time.Since(start), 2*time.Second, "the refusal")
}

// TestUDPListenersMayComeLater: with RetryAbsent, sends to an endpoint that does not listen
// yet do not fail.
func TestUDPListenersMayComeLater(t *testing.T) {
	t.Setenv("VIADUCT_UDP_INSECURE", "1")
	to := freeport.UDPAddress(t)
	c := postUDP(t, via.Options{RetryAbsent: true}, to)
	var done [1]bmi.Completion
	n, err := c.TestContext(done[:], 200*time.Millisecond)
	require.NoError(t, err)
	require.Zero(t, n, "nobody is there, which is no failure: %v", done[0].Err)

	there, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{"via+udp://" + to}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, there.Close()) })
	var in [1]bmi.Unexpected
	require.Eventually(t, func() bool {
		n, err := there.TestUnexpected(in[:], 10*time.Millisecond)
		return err == nil && n == 1
	}, wallclock.Patience, time.Millisecond)
	in[0].Release()
	n, err = c.TestContext(done[:], wallclock.Patience)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, done[0].Err)
}

package simtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via"
)

// A hopper is one end of a ping-pong over simulated datagrams.
type hopper struct {
	t       *testing.T
	ep      *bmi.Endpoint
	ctx     *bmi.Context
	peer    bmi.Addr
	in, out []byte
	pending int
	got     bool
}

func newHopper(t *testing.T, w *udptest.World, name string, seed uint64, size int) *hopper {
	ep, err := bmi.Open(t.Context(), bmi.Config{
		Manual: true, Clock: w.Clock, Listen: []string{simUDPScheme + "://" + name},
		Options: map[string]any{simUDPScheme: simUDPOptions{w, via.Options{Seed: seed, Idle: w.Idle}}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ep.Close() })
	ctx, err := ep.OpenContext()
	require.NoError(t, err)
	return &hopper{t: t, ep: ep, ctx: ctx, in: make([]byte, size), out: make([]byte, size)}
}

func (h *hopper) send() {
	p, err := h.ctx.PostSend(h.peer, 7, h.out, false)
	h.posted(p, err)
}

func (h *hopper) recv() {
	h.got = false
	p, err := h.ctx.PostRecv(h.peer, 7, h.in, true)
	h.posted(p, err)
}

func (h *hopper) posted(p bmi.Posted, err error) {
	require.NoError(h.t, err)
	if !p.Done {
		h.pending++
	}
}

func (h *hopper) poll() {
	var out [4]bmi.Completion
	n, err := h.ctx.TestContext(out[:], 0)
	require.NoError(h.t, err)
	for _, c := range out[:n] {
		require.NoError(h.t, c.Err)
		h.pending--
		h.got = h.got || c.User == true
	}
}

// TestSimHops: over a network without faults a message of any size takes the journeys
// that its protocol needs and the time of its bytes. It waits for no timer.
func TestSimHops(t *testing.T) {
	const (
		hop     = 10 * time.Microsecond
		perByte = time.Nanosecond // at both ends of the wire together
		slack   = 5 * time.Microsecond
		warm    = 4
	)
	measured := 8
	if testing.Short() {
		measured = 2
	}
	for _, c := range []struct{ size, hops int }{
		{8, 1}, {1 << 10, 1}, {4 << 10, 1}, {16 << 10, 1}, {64 << 10, 3}, {1 << 20, 3},
	} {
		for _, mtu := range []int{1472, 8972, 65507} {
			t.Run(fmt.Sprintf("%d bytes in packets of %d", c.size, mtu), func(t *testing.T) {
				w := udptest.New(1, sim.LinkOptions{DelayMin: hop}, simdgram.Options{
					MTUBytes: mtu, Up: sim.Rate{BytesPerSecond: int(time.Second / perByte)},
					RecvBytesMax: 8 << 20, SendBytesMax: 8 << 20,
				}, udp.Provider{Insecure: true})
				names := [2]string{w.NewName(), w.NewName()}
				var ends [2]*hopper
				for i := range ends {
					ends[i] = newHopper(t, w, names[i], uint64(i+1), c.size)
				}
				for i, h := range ends {
					var err error
					h.peer, err = h.ep.Lookup(simUDPScheme + "://" + names[1-i])
					require.NoError(t, err)
				}
				until := func(done func() bool) {
					for !done() {
						ends[0].poll()
						ends[1].poll()
						w.Idle(time.Microsecond)
					}
				}
				var start time.Duration
				for round := range warm + measured {
					if round == warm {
						start = w.Clock()
					}
					a, b := ends[round%2], ends[1-round%2]
					b.recv()
					a.send()
					until(func() bool { return b.got })
				}
				took := (w.Clock() - start) / time.Duration(measured)
				t.Logf("half a round trip of %v", took)
				limit := time.Duration(c.hops)*hop + time.Duration(c.size)*perByte*6/5 + slack
				require.LessOrEqual(t, took, limit, "half a round trip")
				until(func() bool { return ends[0].pending+ends[1].pending == 0 })
			})
		}
	}
}

package udp_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// TestOnlyTheAnswerIsGreeted: a connected side sends a packet on each lane when the
// RESPONSE comes again, but not for a few bytes that any host can make.
func TestOnlyTheAnswerIsGreeted(t *testing.T) {
	w := udptest.New(1, sim.LinkOptions{DelayMin: time.Microsecond}, simdgram.Options{}, udp.Provider{Key: udptest.Key, KeepAlive: -1})
	a, b := newSide(t, w, w.NewName()), newSide(t, w, w.NewName())
	var response simdgram.Datagram
	said := 0 // packets sent by a
	w.Net.SetFilter(func(d simdgram.Datagram) bool {
		if wire.Kind(d.Payload[0]) == wire.KindResponse {
			response = d
			response.Payload = append([]byte(nil), d.Payload...)
		}
		if d.From.Addr() == a.host() {
			said++
		}
		return true
	})
	a.dial(b)
	within(t, time.Second, "the connection", func() bool { return a.up && b.up }, a, b)
	m, err := wire.ParseResponse(response.Payload)
	require.NoError(t, err)
	quiet := func() {
		for until := w.Clock() + 100*time.Millisecond; w.Clock() < until; {
			turn(a, b)
		}
	}
	quiet()

	said = 0
	for _, payload := range [][]byte{
		binary.LittleEndian.AppendUint32([]byte{byte(wire.KindResponse), 0, 0, 0}, m.To),
		(&wire.Response{Mode: m.Mode, To: m.To, Sealed: make([]byte, wire.ResponseSealed)}).Append(nil),
		response.Payload[:wire.ResponseBytes-1],
	} {
		w.Net.Inject(simdgram.Datagram{From: response.From, To: response.To, Payload: payload})
		quiet()
	}
	require.Zero(t, said, "answers to nobody")
	w.Net.Inject(response)
	quiet()
	require.Equal(t, 2, said, "one on each lane")
}

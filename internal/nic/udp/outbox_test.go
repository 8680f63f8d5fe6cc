package udp_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestFullSocketKeepsNoMemory: packets that wait for room in a socket do not refer to
// memory that has gone back to its owner meanwhile.
func TestFullSocketKeepsNoMemory(t *testing.T) {
	s := newStuck(t, udp.Provider{CloseDrain: -1}, nic.PortAttrs{Reliability: nic.ReliableReception, RecvDepth: 1, SendDepth: 1}, nil)
	s.datagrams.full = true
	memory := bytes.Repeat([]byte("ours"), 1000)
	done, err := s.port.PostSend(&nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: memory}}})
	require.NoError(t, err)
	require.False(t, done)
	s.port.Disconnect()
	s.await(nic.EventSend, 1)
	copy(memory, bytes.Repeat([]byte("mine"), 1000))

	large := 0
	s.w.Net.SetFilter(func(d simdgram.Datagram) bool {
		if d.From.Addr() == s.at.Addr() {
			_, err := wire.CheckSum(d.Payload)
			require.NoError(t, err, "it was sealed when it was sent")
			require.NotContains(t, string(d.Payload), "mine")
			if len(d.Payload) > 1000 {
				large++
			}
		}
		return true
	})
	s.datagrams.full = false
	s.await(nic.EventDisconnected, 1)
	require.NotZero(t, large, "what waited was sent")
}

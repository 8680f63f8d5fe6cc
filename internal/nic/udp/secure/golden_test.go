package secure

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// TestGolden: the same keys and the same randomness make the same bytes, in this release and in later ones.
func TestGolden(t *testing.T) {
	var vectors []golden.Vector
	for _, k := range secured(t) {
		dialler := newGuard(t, 1, k.of(t, "dialler", Config{Ciphers: wire.CipherChaCha}))
		listener := newGuard(t, 2, k.of(t, "listener", Config{Ciphers: wire.CipherChaCha, Listening: true, Name: "listener"}))
		i := dial(t, dialler)
		packet, b, err := requested(t, i, listener).Accept(0xacce, 4003)
		require.NoError(t, err)
		init := bytes.Clone(i.Packet())
		_, err = i.Input(bob, packet)
		require.NoError(t, err)
		mode := dialler.Mode().String()
		vectors = append(vectors,
			golden.Vector{Name: mode + "_init", Comment: "INIT with a cookie, mode " + mode + ".", Bytes: init},
			golden.Vector{Name: mode + "_response", Comment: "RESPONSE, accepted.", Bytes: packet},
			golden.Vector{Name: mode + "_initiator", Comment: "PACKET 0 of the initiator, \"hello\".", Bytes: seal(t, i.Peer().Session, i.Peer().ID, "hello")},
			golden.Vector{Name: mode + "_responder", Comment: "PACKET 0 of the responder, \"hello\".", Bytes: seal(t, b.Session, b.ID, "hello")},
		)
	}
	golden.CheckVectors(t, "testdata/handshake.golden", vectors)
}

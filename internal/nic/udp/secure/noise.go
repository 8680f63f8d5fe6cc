package secure

import (
	"bytes"
	"io"

	"github.com/flynn/noise"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// suite is Noise_*_25519_ChaChaPoly_SHA256 for all patterns. It has the cipher of the handshake.
// The cipher of packets is chosen separately.
var suite = noise.NewCipherSuite(noise.DH25519, noise.CipherChaChaPoly, noise.HashSHA256)

const ephemeralBytes = 32 // a private key, and a public one

// noiseShaker is the shaker with keys: a shared one (NNpsk0), static ones (IK), or both (IKpsk0).
type noiseShaker struct {
	psk    []byte      // nil: no shared key
	static *PrivateKey // nil: no static keys
	server PublicKey   // for the initiator: the other side's static key
	random io.Reader
	state  *noise.HandshakeState

	// The inputs of the initiator's state, to make it again.
	ephemeral [ephemeralBytes]byte
	init      []byte // InitClear bytes
	payload   []byte
}

// start makes a state. The prologue is the clear part of the INIT, so that the handshake fails if
// it was changed. It includes the INIT's cookie, so a recorded INIT is useless from another address
// or at another time.
func (n *noiseShaker) start(initiator bool, prologue []byte, random io.Reader) error {
	cfg := noise.Config{
		CipherSuite: suite, Pattern: noise.HandshakeNN, Initiator: initiator, Random: random,
		Prologue: prologue, PresharedKey: n.psk, PresharedKeyPlacement: 0,
	}
	if n.static != nil {
		cfg.Pattern, cfg.StaticKeypair = noise.HandshakeIK, n.static.pair
		if initiator {
			cfg.PeerStatic = n.server[:]
		}
	}
	var err error
	n.state, err = noise.NewHandshakeState(cfg)
	return err
}

// client is the static key of the initiator, on the side that opened its INIT.
func (n *noiseShaker) client() (key PublicKey) {
	copy(key[:], n.state.PeerStatic())
	return key
}

func (n *noiseShaker) sealInit(clear, payload []byte) ([]byte, error) {
	if _, err := io.ReadFull(n.random, n.ephemeral[:]); err != nil {
		return nil, err
	}
	n.init, n.payload = bytes.Clone(clear), bytes.Clone(payload)
	return n.again()
}

// again makes the initiator's state, and its INIT, from the inputs that sealInit kept.
func (n *noiseShaker) again() ([]byte, error) {
	if err := n.start(true, n.init, bytes.NewReader(n.ephemeral[:])); err != nil {
		return nil, err
	}
	packet := append(make([]byte, 0, wire.InitStaticBytes), n.init...)
	packet, _, _, err := n.state.WriteMessage(packet, n.payload)
	return packet, err
}

func (n *noiseShaker) openInit(packet []byte) ([]byte, error) {
	if err := n.start(false, packet[:wire.InitClear], n.random); err != nil {
		return nil, err
	}
	payload, _, _, err := n.state.ReadMessage(nil, packet[wire.InitClear:])
	if err != nil {
		return nil, ErrKey
	}
	return payload, nil
}

func (n *noiseShaker) sealResponse(clear, payload []byte) ([]byte, secrets, error) {
	packet := append(make([]byte, 0, wire.ResponseBytes), clear...)
	packet, theirs, ours, err := n.state.WriteMessage(packet, payload)
	if err != nil {
		return nil, secrets{}, err
	}
	return packet, secrets{send: ours.UnsafeKey(), recv: theirs.UnsafeKey()}, nil
}

// openResponse must leave a state in which the genuine answer can still be read after a forged one.
// The library does not promise that, and does not do it if the forged one has a public key that
// X25519 refuses.
func (n *noiseShaker) openResponse(packet []byte) ([]byte, secrets, error) {
	payload, ours, theirs, err := n.state.ReadMessage(nil, packet[wire.ResponseClear:])
	if err != nil {
		if _, again := n.again(); again != nil {
			return nil, secrets{}, again
		}
		return nil, secrets{}, ErrForged
	}
	return payload, secrets{send: ours.UnsafeKey(), recv: theirs.UnsafeKey()}, nil
}

func (n *noiseShaker) forget() {
	if n.state != nil {
		clear(n.state.LocalEphemeral().Private)
	}
	clear(n.ephemeral[:])
	clear(n.psk)
	n.state, n.payload = nil, nil
}

package wire

import "fmt"

// Mode says how both sides of a connection prove who they are and protect its packets.
type Mode uint8

const (
	// ModeInsecure: against accidents alone, by a checksum.
	ModeInsecure Mode = 1
	// ModeNoise: by Noise_NNpsk0_25519_ChaChaPoly_SHA256 with a shared key,
	// and what docs/security-udp.md says of packets.
	ModeNoise Mode = 2
	// ModeStatic: by Noise_IK_25519_ChaChaPoly_SHA256. Each side has a static key of its
	// own; the initiator knows the responder's beforehand, and the responder learns the
	// initiator's from the INIT.
	ModeStatic Mode = 3
	// ModeStaticShared: by Noise_IKpsk0_25519_ChaChaPoly_SHA256, with static keys and a
	// shared key.
	ModeStaticShared Mode = 4
)

func (m Mode) String() string {
	switch m {
	case ModeInsecure:
		return "insecure"
	case ModeNoise:
		return "noise"
	case ModeStatic:
		return "static"
	case ModeStaticShared:
		return "static+shared"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

func (m Mode) valid() bool { return m >= ModeInsecure && m <= ModeStaticShared }

// Static reports whether both sides have static keys.
func (m Mode) Static() bool { return m == ModeStatic || m == ModeStaticShared }

// Shared reports whether both sides have a shared key.
func (m Mode) Shared() bool { return m == ModeNoise || m == ModeStaticShared }

// InitBytes is the length of an INIT of this mode.
func (m Mode) InitBytes() int {
	if m.Static() {
		return InitStaticBytes
	}
	return InitBytes
}

package wire

import "fmt"

// Mode says how both sides of a connection authenticate and protect its packets.
type Mode uint8

const (
	// ModeInsecure: only against accidental damage, by a checksum.
	ModeInsecure Mode = 1
	// ModeNoise: Noise_NNpsk0_25519_ChaChaPoly_SHA256 with a shared key, and for packets
	// as in docs/internals/protocols/udp.md.
	ModeNoise Mode = 2
	// ModeStatic: Noise_IK_25519_ChaChaPoly_SHA256. Each side has its own static key;
	// the initiator knows the responder's beforehand, and the responder learns the
	// initiator's from the INIT.
	ModeStatic Mode = 3
	// ModeStaticShared: Noise_IKpsk0_25519_ChaChaPoly_SHA256, with static keys and a
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

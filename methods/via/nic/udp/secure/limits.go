package secure

import "time"

// Limits of the protocol: both sides must have the same.
const (
	// EpochPackets is how many packets of one direction are sealed with one
	// key: far below what AES-GCM may seal (RFC 9001, appendix B.1: 2^23
	// packets of at most 2^16 bytes).
	EpochPackets = 1 << epochBits
	epochBits    = 22
	// PacketsMax is how many packets a connection may send in one direction.
	PacketsMax = 1 << 48
)

// Limits of this side.
const (
	// WindowPackets is how far a packet may be behind the latest one of its
	// connection and still be taken.
	WindowPackets = 8192
	// ForgeriesMax is how many packets of a connection may fail to be
	// authentic before guessing one comes into reach (RFC 9001, section 6.6:
	// 2^36 for ChaCha20-Poly1305, the smaller one).
	ForgeriesMax = 1 << 36

	// CookieSlot is how long cookies are made with one key. They are good in
	// that time and in the next slot.
	CookieSlot = 5 * time.Second
	// RefusalsMin is how often in a row an initiator must be refused for the same
	// reason before it gives up. An INIT that was damaged is refused as one with
	// another key is, and a REFUSED may arrive twice.
	RefusalsMin = 5
	// InitLife is how long an INIT is remembered: at least as long as its
	// cookie is good.
	InitLife = 2 * CookieSlot
	// InitsMax is how many INITs a Guard remembers unless its Config says
	// otherwise, each with less than 1 KiB.
	InitsMax = 16384

	// ResetEvery and ResetBurst bound how often a Guard answers packets of
	// unknown connections.
	ResetEvery = time.Millisecond
	ResetBurst = 64

	// StrangerBurst and StrangerEvery bound how many INITs of one host are opened in vain
	// if there are static keys: so many at once, and then one each time. StrangerHostsMax is for how many
	// hosts that is counted; others share one count.
	StrangerBurst    = 128
	StrangerEvery    = 10 * time.Millisecond
	StrangerHostsMax = 4096

	// PublicFileBytesMax is the longest file of public keys, in bytes.
	PublicFileBytesMax = 8 << 20
	// KeyFileBytesMax is the longest key file, in bytes.
	KeyFileBytesMax = 4096
	// PassphraseMin is the shortest passphrase, in characters.
	PassphraseMin = 16

	// plainCopyBytes: up to so many bytes of a packet's body are moved behind
	// its head although nothing encrypts them, as pieces cost the kernel more.
	plainCopyBytes = 1024
)

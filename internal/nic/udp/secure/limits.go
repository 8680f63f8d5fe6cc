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
	// WindowPackets is how far a packet may be behind the latest one of its connection and still be
	// accepted.
	WindowPackets = 8192
	// ForgeriesMax is how many packets of a connection may fail authentication. Beyond that a successful
	// forgery becomes possible (RFC 9001, section 6.6: 2^36 for ChaCha20-Poly1305, the smaller limit).
	ForgeriesMax = 1 << 36

	// CookieSlot is how long cookies are made with one key. They are valid in that slot and in the next
	// one.
	CookieSlot = 5 * time.Second
	// RefusalsMin is how often in a row an initiator must be refused for the same reason before it gives
	// up. A damaged INIT is refused like one with another key, and a REFUSED may arrive twice.
	RefusalsMin = 5
	// InitLife is how long an INIT is remembered: at least as long as its cookie is valid.
	InitLife = 2 * CookieSlot
	// InitsMax is how many INITs a Guard remembers unless its Config says
	// otherwise, each with less than 1 KiB.
	InitsMax = 16384

	// ResetEvery and ResetBurst bound how often a Guard answers packets of
	// unknown connections.
	ResetEvery = time.Millisecond
	ResetBurst = 64

	// StrangerBurst and StrangerEvery bound how many INITs with unknown keys of one host are processed if
	// there are static keys: StrangerBurst at once, and then one per StrangerEvery. StrangerHostsMax is
	// the number of hosts that are counted separately; all others share one count.
	StrangerBurst    = 128
	StrangerEvery    = 10 * time.Millisecond
	StrangerHostsMax = 4096

	// PublicFileBytesMax is the largest file of public keys, in bytes.
	PublicFileBytesMax = 8 << 20

	// plainCopyBytes: a packet body up to this size is copied behind its header although nothing encrypts
	// it, because separate pieces cost the kernel more.
	plainCopyBytes = 1024
)

package wire

import "errors"

// Errors of the Parse functions. The sender, or the network, made the bad packet.
var (
	ErrShort   = errors.New("wire: packet ends early")
	ErrLong    = errors.New("wire: packet has bytes after its end")
	ErrInvalid = errors.New("wire: packet has an impossible value")
	// ErrKind is for a packet of another kind than the one to be parsed.
	ErrKind = errors.New("wire: packet is of another kind")
	// ErrDamaged is for a packet with a wrong checksum.
	ErrDamaged = errors.New("wire: packet arrived damaged")
)

package wire

import (
	"errors"
	"fmt"
)

// Errors of packets.
var (
	ErrLength   = errors.New("packet of the wrong length")
	ErrReserved = errors.New("reserved bytes are not zero")
	ErrValue    = errors.New("value out of range")
	ErrVersion  = errors.New("another version of the protocol")
)

// checkLength returns an error unless a packet is want bytes long.
func checkLength(k Kind, b []byte, want int) error {
	if len(b) != want {
		return fmt.Errorf("%w: %v has %d bytes, want %d", ErrLength, k, len(b), want)
	}
	return nil
}

// checkID returns an error if an id is 0, which names nothing.
func checkID(k Kind, id uint32) error {
	if id == 0 {
		return fmt.Errorf("%w: %v of id 0", ErrValue, k)
	}
	return nil
}

func reserved(k Kind) error { return fmt.Errorf("%w: %v", ErrReserved, k) }

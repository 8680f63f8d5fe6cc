package wire

import "fmt"

// EagerNext is the aux word of every further packet of an eager message. The
// packets of one message follow each other; only control packets come between.
type EagerNext struct {
	Offset int // of the payload in the message, in bytes
}

// IsNext tells whether the aux word of an EXPECTED or UNEXPECTED packet is an
// EagerNext.
func IsNext(aux uint32) bool { return aux&auxNext != 0 }

// Aux packs the word.
func (e EagerNext) Aux() uint32 { return auxNext | uint32(e.Offset) }

// ParseEagerNext unpacks an aux word for which IsNext is true.
func ParseEagerNext(aux uint32) EagerNext { return EagerNext{Offset: int(aux &^ auxNext)} }

func (e EagerNext) String() string { return fmt.Sprintf("offset=%d", e.Offset) }

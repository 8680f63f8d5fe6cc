package wire

import "fmt"

// Bye (type CANCEL) ends a connection on purpose and says why. It is the last
// packet that its sender sends on it; it has no body.
type Bye struct {
	Reason uint32 // a peer.Reason; the receiver does not trust it
}

// Aux packs the word.
func (m Bye) Aux() uint32 { return m.Reason }

// ParseBye reads the aux word and the (empty) body.
func ParseBye(aux uint32, body []byte) (Bye, error) {
	return Bye{Reason: aux}, exactly(body, 0)
}

func (m Bye) String() string { return fmt.Sprintf("reason=%d", m.Reason) }

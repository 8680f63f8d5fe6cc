package wire

import "fmt"

// Credit returns more credits than the match bits of other packets can carry,
// or returns them when no other packet goes that way. It has no body: the
// number is in the header's aux word, and the credit bits are used as well.
type Credit struct {
	Credits int // 0 ≤ Credits ≤ CreditsMax
}

// CreditsMax bounds the credits that one connection can have in one direction.
const CreditsMax = 1 << 12

// Aux packs the word.
func (m Credit) Aux() uint32 { return uint32(m.Credits) }

// ParseCredit reads the aux word and the (empty) body.
func ParseCredit(aux uint32, body []byte) (Credit, error) {
	if err := exactly(body, 0); err != nil {
		return Credit{}, err
	}
	if aux > CreditsMax {
		return Credit{}, ErrInvalid
	}
	return Credit{Credits: int(aux)}, nil
}

func (m Credit) String() string { return fmt.Sprintf("credits=%d", m.Credits) }

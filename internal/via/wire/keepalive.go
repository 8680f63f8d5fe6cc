package wire

// KeepAlive tells an idle peer that its sender is there. It has no body; an
// Aux of 1 asks for a KeepAlive of 0 in return.
type KeepAlive struct {
	WantReply bool
}

// Aux packs the word.
func (m KeepAlive) Aux() uint32 {
	if m.WantReply {
		return 1
	}
	return 0
}

// ParseKeepAlive reads the aux word and the (empty) body.
func ParseKeepAlive(aux uint32, body []byte) (KeepAlive, error) {
	if aux > 1 {
		return KeepAlive{}, ErrInvalid
	}
	return KeepAlive{WantReply: aux == 1}, exactly(body, 0)
}

func (m KeepAlive) String() string {
	if m.WantReply {
		return "ask"
	}
	return "reply"
}

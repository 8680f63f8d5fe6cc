package vipl

// Claim gives the memory that a small message leaves from, which PublishSend then sends. It
// is PostSend of what can be sent at once without a descriptor: nil says that it cannot, and
// nothing has happened. Until PublishSend the NIC must not be used for anything else.
func (vi *VI) Claim(length int) []byte {
	if vi.direct == nil || vi.state != Connected {
		return nil
	}
	return vi.direct.Claim(length)
}

// PublishSend sends what is in the memory of the last Claim, which has not been nil.
func (vi *VI) PublishSend() { vi.direct.Publish() }

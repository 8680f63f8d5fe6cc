package nic

// A DirectPort is a port whose device lets a message be written directly into device
// memory, without a descriptor.
type DirectPort interface {
	// Claim returns device memory for a message of a length, in bytes, of at most Caps.MTUBytes. nil means that the message must
	// be posted instead. A port that is not connected returns nil. Until Publish nothing else may be done with the device;
	// afterwards the memory is the device's again.
	Claim(length int) []byte
	// Publish sends the message in the memory of the last Claim. It has the effect of a
	// PostSend that finished with StatusSuccess.
	Publish()
}

// A DirectDevice delivers a message without a descriptor. All receives must be posted with FlagLoan.
type DirectDevice interface {
	Device

	// Take takes the next message, unless Poll must first handle something else. cookie is the cookie of its port. A payload of
	// up to Caps.InlineBytesMax bytes is copied to to. A longer one stays where it is: it is lent until Return, and the remote
	// side may be able to write to it all that time, as with FlagLoan. The oldest posted receive stays with the device: it
	// counts as having taken the message and having been posted again (after Return, if there is a loan). A nil cookie says that
	// no message was taken; idle, that there is nothing for Poll either.
	Take(to *[InlineMax]byte) (cookie any, data []byte, lent, idle bool)
	// Return ends the loan of the last Take. It must be called before the next Take or Poll, even if the port has been closed.
	Return()
}

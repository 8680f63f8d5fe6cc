package nic

// A DirectPort is a port whose device lets a small message be written directly into device
// memory, without a descriptor.
type DirectPort interface {
	// Claim returns device memory for a message of a length, in bytes. nil means that the
	// message must be posted instead, for whatever reason. Until Publish nothing else may
	// be done with the device; afterwards the memory is the device's again.
	Claim(length int) []byte
	// Publish sends the message in the memory of the last Claim. It has the effect of a
	// PostSend that finished with StatusSuccess.
	Publish()
}

// A DirectDevice delivers a small message without a descriptor: from its completion entry to its consumer.
type DirectDevice interface {
	Device

	// Take takes the next message, if it lies in a completion entry and there is nothing else that Poll has to do first. It copies the
	// payload to to, and returns its length in bytes and the cookie of its port. The oldest posted receive is as if it had taken the
	// message and had been posted again: it stays with the device. A nil cookie says that no message was taken; idle, that there is
	// nothing for Poll either.
	Take(to *[InlineMax]byte) (cookie any, length int, idle bool)
}

package nic

// A DirectPort is a port into whose device a small message can be written where it
// leaves from, without a descriptor.
type DirectPort interface {
	// Claim gives memory for a message of a length, in bytes. nil says that it has to be
	// posted, for whatever reason. Nothing else may be done with the device until Publish,
	// and the memory is the device's again then.
	Claim(length int) []byte
	// Publish sends the message that the memory of the last Claim holds by now. It is as
	// a send that PostSend has finished with StatusSuccess.
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

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

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

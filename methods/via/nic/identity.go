package nic

// An Identity is the private key of an endpoint and the public keys of its peers, by name or address, for an Identified
// provider. Each part is given as a file or directly. docs/reference/security-udp.md has the formats.
type Identity struct {
	// PrivateFile is the file of the private key, which must be readable only by its owner; Private is the key itself,
	// KeyBytes random bytes.
	PrivateFile string
	Private     Key
	// ClientsFile is the file of the public keys of devices that may connect to a listening device; Clients is its contents.
	ClientsFile, Clients string
	// ServersFile is the file of the public keys of devices that this device may connect to; Servers is its contents.
	ServersFile, Servers string
}

package nic

// An Identity says who an endpoint is and which others it knows, for an Identified provider: its own private key, and public
// keys of others by name or address. Each part is a file, or stands here. docs/security-udp.md has the formats.
type Identity struct {
	// PrivateFile is the file of the private key, which only its owner can read; Private the key itself,
	// KeyBytes random bytes.
	PrivateFile string
	Private     Key
	// ClientsFile is the file of the public keys of those that may connect to a device that listens, Clients its text.
	ClientsFile, Clients string
	// ServersFile is the file of the public keys of those that the device may connect to, Servers its text.
	ServersFile, Servers string
}

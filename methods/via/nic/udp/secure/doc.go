// Package secure is what the UDP NIC proves and protects: who may connect, and
// that packets arrive as they were sent, once, unread by others. It has no
// socket, clock or goroutine: bytes, addresses and times come in as arguments,
// randomness from an io.Reader, bytes go out.
//
// A Guard is what one device has: it answers whoever asks for a connection
// (respond.go), makes an Initiator for every connection that the device asks for
// (initiator.go), and proves where a lost connection went (reset.go). Both sides
// of a handshake end with a Peer, whose Session seals and opens the packets of
// the connection. Whether there is a key (key.go) or not, and so whether Noise
// and an AEAD are used or a checksum, shows in the files noise.go and sealed.go
// against plain.go, and nowhere to the caller.
//
// One owner at a time calls a Guard and everything that came from it.
//
// docs/security-udp.md says what that protects from and what not, and how to make
// keys. The formats of packets are in the package wire beside this one; what
// reads and sends them in the UDP NIC itself.
package secure

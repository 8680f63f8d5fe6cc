// Package secure authenticates and protects for the UDP NIC: it decides who may
// connect, and ensures that packets arrive unchanged, once, and unread by others.
// It has no socket, clock or goroutine: bytes, addresses and times come in as
// arguments, randomness from an io.Reader, and bytes go out.
//
// A Guard belongs to one device. It answers connection requests (respond.go),
// makes an Initiator for every connection that the device requests
// (initiator.go), and proves to peers that a connection was lost (reset.go). Both
// sides of a handshake end with a Peer, whose Session seals and opens the packets
// of the connection. With a key (key.go), Noise and an AEAD are used; without
// one, a checksum. The difference is confined to noise.go and sealed.go on one
// side and plain.go on the other; the caller does not see it.
//
// One owner at a time calls a Guard and everything that came from it.
//
// docs/reference/security-udp.md says what this protects against and what not, and how to
// make keys. The formats of packets are in package wire; the UDP NIC itself reads
// and sends them.
package secure

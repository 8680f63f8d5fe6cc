// Package wire is the packet format of the UDP NIC, version 2: the contents of
// one datagram between two devices. It has one file per packet kind, each with a
// struct, Append, Parse and String, and no code that acts on packets: the
// transport is in package reliable, messages in message, handshake and keys in
// secure. `ls` of this folder is the protocol.
//
// All integers are little endian. Byte 0 of every packet is its Kind. A Packet
// (packet.go) carries messages once a connection is made: a plain header, then a
// Transport (transport.go), then segments (segment.go), if any. The other kinds
// make and end connections.
//
// The input of a Parse function may come from any host: Parse never panics, and
// an accepted packet is encoded to the same bytes again.
package wire

// Version of the packet format. Both sides must speak the same.
const Version = 2

// PayloadMin is the UDP payload that every path is assumed to carry, in bytes: no
// handshake packet is larger.
const PayloadMin = 1200

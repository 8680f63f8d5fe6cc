// Package wire is the packet format of the UDP NIC, version 1: what one datagram
// carries between two devices. It holds one file per packet kind, each with a
// struct, Append, Parse and String, and nothing that acts on packets: the
// transport is in the package reliable beside this one, messages are in message,
// handshake and keys in secure. `ls` of this folder is the protocol.
//
// All integers are little endian. Byte 0 of every packet is its Kind. A Packet
// (packet.go) is the one that carries messages once a connection is made: a
// plain header, then a Transport (transport.go), then at most one segment
// (segment.go); the others make connections and end them.
//
// Whatever a Parse function is given may come from anybody: it never panics, and
// what it takes is encoded to the same bytes again.
package wire

// Version of the packet format. Both sides must speak the same.
const Version = 1

// PayloadMin is the UDP payload that every path is taken to carry, in bytes: no
// packet of a handshake is larger.
const PayloadMin = 1200

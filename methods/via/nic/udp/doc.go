// Package udp is the NIC provider for processes on different hosts: it makes UDP
// datagrams, which are lost, doubled, reordered, damaged and forged, into the
// reliable connections that package nic promises.
//
// Here is what joins the parts: devices, ports, connections, and the order in which
// a Poll does things. The parts are in the folders below and know nothing of each
// other:
//
//	wire      what a datagram looks like
//	secure    who may send it: handshake, keys, cookies, replay windows
//	reliable  that it arrives: sequence numbers, acks, retransmission, congestion
//	message   what it is part of: descriptors cut into segments, and put together
//	dgram     what carries it: sockets of the kernel, or a simulated network
//
// docs/protocol-udp.md describes the format and its rules, docs/security-udp.md what
// is protected against whom.
package udp

// Package udp is the NIC provider for processes on different hosts. From UDP
// datagrams, which may be lost, duplicated, reordered, damaged and forged, it makes
// the reliable connections that package nic promises.
//
// This package joins the parts: devices, ports, connections, and the order of the
// steps of a Poll. The parts are in the folders below and know nothing of each
// other:
//
//	wire      the format of a datagram
//	secure    authentication: handshake, keys, cookies, replay windows
//	reliable  delivery: sequence numbers, acks, retransmission, congestion
//	message   descriptors, cut into segments and reassembled
//	dgram     transport: sockets of the kernel, or a simulated network
//
// docs/internals/protocols/udp.md describes the format and its rules, docs/reference/security-udp.md the
// protection.
package udp

// Package wireshark is the home of viaduct-udp.lua, a dissector for the datagrams of
// via+udp:// addresses. There is no Go here but tests, which let tshark dissect
// what endpoints said to each other. docs/protocol-udp.md describes the datagrams.
package wireshark

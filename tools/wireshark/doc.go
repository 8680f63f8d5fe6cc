// Package wireshark is the folder of viaduct-udp.lua, a dissector for the datagrams
// of via+udp:// addresses. Its Go files are only tests, in which tshark dissects the
// datagrams between endpoints. docs/internals/protocols/udp.md describes the datagrams.
package wireshark

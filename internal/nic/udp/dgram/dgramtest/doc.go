// Package dgramtest is the test suite for every dgram.Device: the kernel's sockets,
// a simulated network.
//
// A device's own test makes a Subject and calls Run. The suite plays an owner that
// follows the seam exactly, and keeps a ledger: each datagram has unique content,
// and must arrive once, whole, at its destination and with the right sender. The
// order of arrivals does not matter. Each test ends with an audit of the
// statistics. (A device that loses datagrams on purpose must not do so here, unless
// a buffer is full.)
//
// The seam is in udp/dgram, the meaning of the bytes in udp/wire.
package dgramtest

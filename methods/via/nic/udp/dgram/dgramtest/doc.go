// Package dgramtest says what every dgram.Device must do, as tests that any of them
// can run: the kernel's sockets, a simulated network.
//
// A device's own test makes a Subject and calls Run. The suite plays an owner that
// follows the seam to the letter, and keeps a ledger: each datagram has content
// of its own, and must arrive once, whole, where it was sent to, from where it was
// sent. Nothing is expected of the order in which datagrams arrive. Each test ends
// with an audit of the statistics. (A device that loses datagrams on purpose
// must not do so here, unless a buffer is full.)
//
// What does not live here: the seam (udp/dgram), and anything about what the
// bytes mean (udp/wire).
package dgramtest

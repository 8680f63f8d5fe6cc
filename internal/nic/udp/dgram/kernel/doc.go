//go:build linux

// Package kernel is the datagram device of the kernel's UDP sockets.
//
// A single small packet is one sendto or recvfrom that the Go scheduler does not
// notice. Several packets are one sendmmsg or recvmmsg, in which packets of equal
// size to one destination travel as one (UDP_SEGMENT), and arrive as one (UDP_GRO).
// Packets are never fragmented. While no goroutine sleeps, Go's network poller does
// not notice arrivals.
//
// device.go has the Device, options.go its options, open.go and socket.go the
// sockets. send.go, plan.go and failed.go send; recv.go and arrived.go receive;
// control.go has the ancillary data. path.go has the path MTU, addr.go addresses in
// the kernel's form, sleep.go sleeping (with internal/netpoll), errors.go the
// meaning of errnos, and syscalls.go the system calls whose x/sys versions allocate.
//
// The seam is in internal/nic/udp/dgram, the meaning of the bytes in
// internal/nic/udp/wire.
package kernel

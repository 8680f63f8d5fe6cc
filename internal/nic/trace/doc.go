// Package trace is a NIC provider that wraps any other and writes one line for
// each call and each event. Descriptors, ports and memory are numbered in the
// order of their first use, so that the same run gives the same lines:
//
//	1.5ms node-a p1 post-send #3 send 64B imm=7: pending
//	1.6ms node-b p2 recv #1 success 64B
//
// Wrappers can be stacked: a trace around a fault shows what the consumer sees, a
// trace inside it what the provider did. Polls that find nothing, and sleeping,
// are not traced. Package nic/fault injects faults.
package trace

// Package message is the message layer of the UDP NIC: it cuts what descriptors ask
// for into segments (package wire) and puts segments that arrive, in whatever order,
// where they belong, so that each descriptor comes back once and in its turn.
//
// A Queue is one side of one connection. It has no socket, clock or goroutine and
// belongs to one owner at a time. Below it lies a transport that delivers every
// segment that was taken exactly once, in any order, over two lanes: Next describes
// a segment to send, Append its bytes, as often as they are sent, Acked says that it
// was taken, and Arrived takes one from the other side.
//
// # Order
//
// Sends, writes and read requests are numbered in the order of their posts. Data is
// placed as it comes, straight into the memory that it is for: every segment says
// what it is part of, and which receive its message takes. Messages take effect,
// and receives complete, by their numbers. What answers a read is outside the order.
//
// # Where
//
// queue.go is the Queue, post.go takes descriptors, work.go and next.go are what
// goes out, arrive.go, inbound.go, place.go and cover.go what comes in, recv.go the
// receives and their loans, read.go RDMA reads, end.go the ends of a connection.
//
// What lives elsewhere: sequence numbers, acks and retransmission (reliable), the
// registered memory, ports and events (the provider, package udp).
package message

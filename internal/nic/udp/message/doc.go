// Package message is the message layer of the UDP NIC. It cuts the data of
// descriptors into segments (package wire) and puts arriving segments, in any order,
// into their places, so that each descriptor comes back once and in order.
//
// A Queue is one side of one connection. It has no socket, clock or goroutine and
// belongs to one owner at a time. The transport below it delivers every segment that
// was taken exactly once, in any order, over two lanes. Next describes a segment to
// send. Append returns its bytes, each time it is sent. Acked records that the other
// side took it. Arrived takes one from the other side.
//
// # Order
//
// Sends, writes and read requests are numbered in the order of their posts. Data is
// placed as it comes, directly into its final memory: every segment names its
// message and the receive that the message takes. Messages take effect, and receives
// complete, in the order of their numbers. Answers to reads are outside this order.
//
// # Files
//
// queue.go has the Queue, and post.go takes descriptors. work.go and next.go are for
// sending; arrive.go, inbound.go, bind.go and cover.go for receiving; recv.go has
// the receives and their loans, read.go RDMA reads, end.go the ends of a connection.
//
// Sequence numbers, acks and retransmission are in package reliable; the registered
// memory, ports and events in the provider, package udp.
package message

// Package reliable makes a stream of segments reliable over packets that may be
// lost, doubled, delayed and reordered: sequence numbers, windows, acks,
// retransmission, round trips and congestion control. It is the transport of the
// UDP NIC and knows neither what a segment is nor how a packet travels.
//
// A Lane (lane.go) is one of the two lanes of a connection, both directions of
// it. Sending is in send.go, what acks do in ack.go, how losses are found in
// loss.go, receiving in recv.go, time in timer.go. Congestion (congestion.go) is
// the seam of congestion control, with Fixed and Delay behind it. Wheel (wheel.go)
// keeps the deadlines of many connections.
//
// Nothing here has a goroutine, a lock, a socket or a clock: time is an argument,
// a deadline is an answer. All times are counted from an origin that the caller
// chooses and must never go back. A Lane belongs to one goroutine at a time.
//
// A Lane stores no bytes: a segment is a value of the caller's type S, from which
// the caller makes the same bytes again for a retransmission. The packets are
// described in the package wire beside this one; sockets, keys and messages are
// other packages.
package reliable

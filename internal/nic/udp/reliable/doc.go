// Package reliable makes a stream of segments reliable over packets that may be
// lost, duplicated, delayed and reordered: sequence numbers, windows, acks,
// retransmission, round trips and congestion control. It is the transport of the
// UDP NIC and knows neither the contents of a segment nor the transport of a
// packet.
//
// A Lane (lane.go) is one of the two lanes of a connection, both directions of it.
// Sending is in send.go, acks in ack.go, loss detection in loss.go, receiving in
// recv.go, timers in timer.go. Congestion (congestion.go) is the seam of
// congestion control; Delay implements it.
//
// Nothing here has a goroutine, a lock, a socket or a clock: time is an argument,
// and a deadline is a result. All times are counted from an origin that the caller
// chooses, and must never go back. A Lane belongs to one goroutine at a time.
//
// A Lane stores no bytes: a segment is a value of the caller's type S, from which
// the caller can make the same bytes again for a retransmission. Package wire
// describes the packets; sockets, keys and messages are in other packages.
package reliable

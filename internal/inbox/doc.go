// Package inbox is the receiving side of a method: it joins expected messages with the receives
// that are posted for them, and keeps messages that arrive before their receive.
//
//	inbox       what all peers share; a peer
//	recv        receives: posted, cancelled, failed
//	message     expected messages that arrive in parts, whole, or are announced
//	early       those that come before their receive
//	unexpected  messages without a receive that the endpoint has no room for
//
// A method has one Inbox, and a Peer for each remote endpoint. The Inbox matches, copies,
// completes and counts. The method decides how much a peer may have kept, and makes the peer
// stop sending.
//
// The package knows no packet, connection, clock or lock. An Inbox has one user at a time, as
// a method has.
package inbox

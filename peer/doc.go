// Package peer is the connection state machine of one remote endpoint, and the
// allocator of the ids by which the receiving side tells its peers apart.
//
// Everything here is pure: no I/O, clock, goroutine or lock, and no import of
// ours. Events and the time go in, actions come out, and a deadline says when
// the machine next wants to hear the time. The owner (package methods/via, one
// machine per remote endpoint) carries the actions out and keeps the lists of
// operations; the machine keeps the policy: when may a send start, when must
// it wait, which of two connections survives, what fails and why.
//
// # Words
//
// A link is a connection on the NIC level, one VI on each side. An attempt is
// one try to make one; the side that starts it numbers it, and the number goes
// with every handshake packet as a token, so that a late or repeated packet is
// recognised. A session is one life of a process: a restarted peer has another.
//
// # What the owner does
//
// A send: ask SendPolicy. PolicyNow: Acquire a reference, start it, Release when
// its memory is the owner's again. PolicyQueue: append it to the list of queued
// sends, then Step with EventQueued. PolicyRefuse: complete it with an error. A
// queued send that is cancelled leaves the list, and EventUnqueued is due.
//
// A receive: ask RecvPolicy. PolicyNow: post it to the match table (whatever
// the connection is doing). PolicyQueue: keep it until ActionPostRecvs.
//
// An operation that is cancelled while half on the wire: EventDisconnect with
// ReasonCancelled. All operations with the peer then fail, once each.
//
// Whenever Release reports true, Step with EventDrained is due. Whenever
// NextDeadline has passed, Step with EventTick is due.
//
// # Carrying out actions
//
// Actions are carried out in the order in which they were appended. The
// machine is already in the state in which the whole Step left it, so what a
// completion posts while the list is carried out is judged by that state. For
// ActionFail and ActionFlush, take the list of operations first and then walk
// it: what is posted on the way belongs to the next connection. A Step from
// within appends to the same list of actions, behind what is still to be done.
//
// The tests are the best introduction: testdata holds transcripts that can be
// read without Go, played by package peertest. The protocol model that goes
// with the machine is in docs/models.
package peer

// Package peer is the connection state machine of one remote endpoint, and the
// allocator of the ids by which the receiving side tells its peers apart.
//
// Everything here is pure: no I/O, clock, goroutine or lock, and no import from
// this module. Events and the time go in, actions come out, and a deadline says
// when the machine next needs a tick. The owner (package methods/via, one machine
// per remote endpoint) carries the actions out and keeps the lists of operations.
// The machine decides when a send may start and when it must wait, which of two
// connections survives, what fails and why.
//
// # Words
//
// A link is a connection on the NIC level, one VI on each side. An attempt is one
// try to make a link. The side that starts it numbers it, and every handshake
// packet carries the number as a token, so that a late or repeated packet is
// recognised. A session is one life of a process: a restarted peer has another.
//
// # Duties of the owner
//
// Before a send, ask SendPolicy. PolicyNow: Acquire a reference, start the send,
// and Release when its memory is the owner's again. PolicyQueue: append it to the
// list of queued sends, then Step with EventQueued. PolicyRefuse: complete it
// with an error. If a queued send is cancelled, remove it from the list and Step
// with EventUnqueued.
//
// Before a receive, ask RecvPolicy. PolicyNow: post it to the match table, in any
// state of the connection. PolicyQueue: keep it until ActionPostRecvs.
//
// If an operation is cancelled while it is partly transmitted, Step with
// EventDisconnect and ReasonCancelled. All operations with the peer then fail,
// once each.
//
// Whenever Release reports true, Step with EventDrained is due. Whenever
// NextDeadline has passed, Step with EventTick is due.
//
// # Carrying out actions
//
// Actions are carried out in the order in which they were appended. The machine
// is already in the state in which the whole Step left it, and that state applies
// to operations that a completion posts while the list is carried out. For
// ActionFail and ActionFlush, take the list of operations first and then walk it:
// operations posted meanwhile belong to the next connection. A nested Step
// appends to the same list of actions, behind those still to be carried out.
//
// The tests are the best introduction: testdata holds transcripts that can be
// read without Go, played by package peertest. The protocol model of this machine
// is in docs/internals/models.
package peer

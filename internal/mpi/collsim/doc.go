// Package collsim computes how long collective operations would take on machines
// that nobody has here: up to a hundred thousand ranks and more, on hosts that share a
// link each.
//
// What is simulated are the algorithms of package coll, not formulas for them. They do
// not look at data, so each rank's algorithm is run once, alone, on a coll.Comm that
// records which messages it would send and receive, in which order (record.go). Then
// all schedules are played against each other in virtual time by a discrete-event
// simulation (run.go) of the Network: latency and overhead of messages, and links that
// messages of all ranks of a host wait for. So a rank costs a few hundred bytes, and no
// goroutine.
//
// Not simulated are the contents of messages, and the time that a rank computes or
// copies apart from messages: packing, and combining in reductions.
//
// An operation of package coll whose schedule is the same for many ranks, except that
// all ranks in it are shifted, is recorded once for all of them: see Job.Period.
package collsim

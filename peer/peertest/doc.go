// Package peertest is a small world for machines of package peer: nodes that
// own them as a method would, a network of links and packets that delivers,
// loses, repeats and reorders on command, virtual time, and checkers that watch
// all of it. It plays the transcripts in peer/testdata (Play) and takes the
// random walks of peer's tests.
//
// A World is not the NIC simulator: it knows links and connection packets only,
// and moves no data. What runs the whole method under faults is nic/sim.
package peertest

// Package peertest is a small world for machines of package peer. Its nodes own
// machines as a method would. Its network of links and packets delivers, loses,
// repeats and reorders on command. It has virtual time, and checkers that watch
// everything. It plays the transcripts in peer/testdata (Play) and the random
// walks of peer's tests.
//
// A World is not the NIC simulator: it knows links and connection packets only,
// and moves no data. nic/sim runs the whole method under faults.
package peertest

// Package server is the launcher's side of PMI-1: the pairs that the processes of a job put for
// each other, their fences, and their requests to start, finalize, abort and spawn.
//
// A Job is a group of processes that were started together. It serves each of them over a
// connection of its own, but starts none: package launch does, and decides about the others when
// one has ended. Requests are not trusted: an invalid one ends Serve with an error, and everything
// that a process can fill has a limit.
package server

// Package server is the launcher's side of PMI-1: the pairs that the processes of a job put
// for each other, their fences, and their words of coming, leaving, aborting and spawning.
//
// A Job is a group of processes that were started together; it serves each of them over a
// connection of its own and starts none: package launch does, and decides what becomes of
// the others when one is gone. What a process says is not to be trusted: it ends in an
// error of Serve if it makes no sense, and everything that it can fill has a limit.
package server

// Package wire defines what the agents of a job's hosts say to each other, over the standard input
// and output of the command that starts an agent. It is pure: bytes in, frames out.
//
// An agent begins its output with Magic; what stands before that is what a remote shell printed.
// Then both sides send frames: four bytes of length, big-endian, one byte of kind, the fields in the
// order in which the frame's fields method names them, and the end of a line. Numbers are unsigned
// varints; texts and lists begin with their length.
//
// down.go has the frames that a parent sends, up.go those that a child sends, limits.go the limits
// of all of them.
package wire

// Package stream moves one stream of bytes from one process to another over bmi,
// for `bmi send` and `bmi recv`.
//
// The sender makes an offer and the receiver answers. Blocks follow, several at a
// time, in memory that the method moves cheaply. The last block carries the
// length and the SHA-256 of the whole stream, and the receiver's verdict says
// whether it wrote the same. A transfer succeeds on both sides or fails on both
// sides, with one exception that no protocol can avoid: a sender that loses its
// receiver just before the verdict fails although the receiver has everything.
//
// The format is in format.go and, as text, in docs/internals/protocols/stream.md. send.go and recv.go
// are the two sides, window.go their common part. Files, signals and progress
// bars belong to the commands, in internal/cli.
package stream

// Package stream moves one stream of bytes from a process to another over bmi:
// what `bmi send` and `bmi recv` do between their standard input and output.
//
// The sender offers, the receiver answers; blocks follow, several under way at
// once, in memory that the method moves cheaply; the last carries the length and
// the SHA-256 of all; the receiver's verdict says whether what it wrote is the
// same. A transfer succeeds on both sides or fails on both sides, with one
// exception that no protocol avoids: a sender that loses its receiver just
// before the verdict fails although the receiver has everything.
//
// The format is in format.go and, in words, in docs/stream.md. send.go and
// recv.go are the two sides, window.go what they share. Files, signals and
// progress bars belong to the commands, in internal/cli.
package stream

// Package stripe computes how a file's bytes are spread over its datafiles. There is one [Map] for each distribution of the
// protocol. It does no I/O.
//
// A file is a sequence of bytes at logical offsets. Each byte is on one of n
// datafiles, at a physical offset there. Within a datafile, bytes at higher
// physical offsets have higher logical offsets.
//
// Parameters come from other machines. [Of] refuses invalid ones. After that nothing overflows: an offset that would be larger
// than [math.MaxInt64] is that.
package stripe

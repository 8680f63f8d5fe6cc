// Package stripe says how a file's bytes are spread over its datafiles: one
// [Map] for each distribution of the protocol. It is arithmetic only.
//
// A file is a sequence of bytes at logical offsets. Each byte is on one of n
// datafiles, at a physical offset there. Within a datafile, bytes at higher
// physical offsets have higher logical offsets.
//
// Parameters come from other machines. [Of] refuses those that make no map;
// after that nothing here overflows: what would lie beyond the largest offset
// is at [math.MaxInt64].
package stripe

// Package segment is the memory that a program and a plugin share: two unnamed files (memfd_create)
// that the program makes and the plugin maps from the descriptors that it gets. Rings has the two
// rings of one incarnation of a plugin. Arena has the memory for messages, which outlives plugins,
// because users hold pieces of it.
//
// A file is sealed before it is passed on, so neither side can make it shorter than the other
// expects: access beyond the end would kill the process. Each file begins with a page that
// identifies it, which is checked when the file is mapped.
//
// file.go is the file and its first page, segment.go the rest. The contents of a ring are in
// package ring, the division of an arena in package arena, and the passing of descriptors in
// package process.
package segment

// Package segment is the memory that a program and a plugin share: two files without a
// name (memfd_create) that the program makes and the plugin maps from descriptors that it
// is given. Rings has the two rings of one incarnation of a plugin; Arena has the memory
// for messages, which stays while plugins come and go, for users hold pieces of it.
//
// A file is sealed before it is given away, so that neither side can make it shorter
// than the other believes: to touch what is not there any more would end the process.
// Each begins with a page that says what it is, and whoever maps the file checks that.
//
// file.go is the file and its first page, segment.go what lies behind it. What stands in
// a ring is in package ring, how an arena is divided in package arena, how descriptors
// reach another process in package process.
package segment

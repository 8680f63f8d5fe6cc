// Package datatype builds, checks and walks file requests, which describe the file's side of an I/O. It does no I/O.
//
// A [proto.FileRequest] is a type as in MPI: bytes, repeated blocks with a stride, lists of displacements, nested. It is repeated
// (tiled) over the file without end. An operation takes the bytes from fileOffset to fileOffset+aggregate of the type. These
// offsets count only the type's own bytes, without gaps. For contiguous bytes, and only for these, fileOffset is the offset in
// the file.
//
// [Regions] is the file's side alone. [Pieces] divides it over datafiles, in the order in which the bytes of a datafile are sent.
//
// Requests come from other machines. [CheckIO] reports whether one can be walked.
package datatype

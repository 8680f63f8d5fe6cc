// Package datatype builds, checks and walks file requests: the description of
// the file's side of an I/O. It is arithmetic only.
//
// A [proto.FileRequest] is a type as MPI has them: bytes, repeated blocks with
// a stride, lists of displacements, nested. It is tiled over the file without
// end. An operation takes the bytes from fileOffset to fileOffset+aggregate of
// the type: these are counts of the type's own bytes, gaps left out. For plain
// bytes, and only there, fileOffset is the offset in the file.
//
// [Regions] is the file's side alone. [Pieces] divides it over datafiles, in the
// order in which the bytes of one datafile are on the wire.
//
// Requests come from other machines: [CheckIO] says whether one can be walked.
package datatype

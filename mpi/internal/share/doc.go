// Package share is memory that the processes of one host map in common, for the parts of a window
// there, and the locks in it.
//
// A Region is a memfd of one process (region.go), which the others open through /proc. It is sealed,
// so that no process can make it shorter while others use it. Its first pages hold the locks
// (locks.go): for each rank one that programs take, and one for elements that no instruction of the
// processor changes. docs/internals/protocols/mpi.md has the format.
//
// Any process that maps a region may write anything anywhere in it. So each word is loaded once and
// checked. A nonsensical word is an error for its user; it crashes nobody. A lock that its holder
// does not give back is waited for as long as the caller likes, or until the caller finds, by other
// means, that the holder has died.
package share

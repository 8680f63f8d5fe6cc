// Package storage is the interface between package file and the files that bytes are stored in: a
// few calls on byte ranges. internal/posix and internal/pvfs implement it; errors.go gives their
// errors the classes of MPI. driver.go has directories, and what opens both.
package storage

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
)

// A File is one process's access to a stored file. Its methods may be called by any goroutine. They
// end with the error of ctx when ctx ends; bytes of a write may then have been written or not.
// Errors have a class of MPI, or are those of ctx.
//
// Writes of disjoint ranges do not affect each other, within a process and between processes.
// Overlapping writes at the same time leave the bytes of either.
type File interface {
	// Read reads the ranges, one after another, into mem, which has their size. n is the number of
	// bytes before the first one beyond the end of the file.
	Read(ctx context.Context, l ranges.List, mem []byte, o Options) (n int64, err error)
	// Write writes mem to the ranges. After an error any of its bytes may have been written, and no
	// others.
	Write(ctx context.Context, l ranges.List, mem []byte, o Options) error

	Size(ctx context.Context) (int64, error)
	// Truncate sets the size.
	Truncate(ctx context.Context, size int64) error
	// Preallocate makes room for the bytes below size, and the file at least this long.
	Preallocate(ctx context.Context, size int64) error
	// Sync puts all bytes that this process has written on stable storage.
	Sync(ctx context.Context) error
	Close(ctx context.Context) error

	Layout() Layout
}

// A Locker is a File with locks that other processes see.
type Locker interface {
	// Lock locks bytes off to end-1: against all other locks, or, if shared, against those that are
	// not. Reads and writes of these bytes have Options.Locked until unlock is called.
	Lock(ctx context.Context, off, end int64, shared bool) (unlock func(), err error)
}

// Options are what a read or write may do.
type Options struct {
	// Locked: the caller holds a lock on all ranges.
	Locked bool
	// Sieve says whether to read and write the gaps between ranges, too (data sieving), where there
	// is no operation on many ranges.
	Sieve Choice
	// BufferBytes limits the memory for ranges that are read or written with their gaps.
	BufferBytes int64
}

// A Choice says whether a way to do something is used.
type Choice uint8

// The choices.
const (
	Automatic Choice = iota // where it is faster
	Enable                  // always, if possible
	Disable                 // never
)

// A Layout is how a file lies on servers: units of Unit bytes are stored by Count servers in turn.
// For a file that is not striped, Unit is the size of its blocks and Count is 1.
type Layout struct {
	Unit  int64
	Count int
}

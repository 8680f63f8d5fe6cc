// Package file has the files of MPI programs, MPI-4.1, chapter 14: files that the processes of a
// communicator open together, of which each sees a part (a view), and which they read and write
// alone or together.
//
//	f, err := file.Open(ctx, p.World(), "out", file.ModeCreate|file.ModeWronly, nil)
//	err = f.SetView(ctx, 0, datatype.Float64, mine, file.Native, nil)
//	_, err = f.WriteAll(ctx, b)
//	err = f.Close(ctx)
//
// # Names
//
// The name of a file is a path of the operating system. "pvfs:tcp://host:3334/pvfs2-fs/dir/file" is
// a file of a parallel file system, at the address of any of its servers; "pvfs:/mnt/pvfs2/dir/file"
// is one below a mount point in the pvfs2tab, which need not be mounted. Programs that use such names
// must link the methods that reach the servers.
//
// # How calls look
//
// The names are those of the standard without MPI_File_: Read and Write use the individual pointer,
// ReadAt and WriteAt an offset, ReadShared and WriteShared the shared pointer. Calls with All, and
// ReadOrdered and WriteOrdered, are collective. Calls with I return a Request at once, of which an
// error is the result. Calls with Begin start an operation that End completes. Offsets count etypes
// of the view; displacements and sizes count bytes.
//
// A read that reaches the end of the file is no error: Status.Bytes tells how many bytes there were.
// The memory behind them is undefined. Pointers move by what was asked for.
//
// # Hints
//
// Hints have the names of ROMIO. Keys that are not known are ignored, and wrong values are errors of class
// mpi.ErrInfoValue. Info returns those in use.
//
//	cb_nodes                             how many ranks are aggregators, from 1 on (default: all, at most 64)
//	cb_buffer_size                       how much of the file an aggregator handles in one round, 4 KiB to 1 GiB
//	                                     in bytes (16 MiB)
//	romio_cb_read, romio_cb_write        whether collective calls use aggregators: enable, disable, or
//	                                     automatic (the default): where the parts of ranks interleave
//	romio_ds_read, romio_ds_write        whether gaps between ranges are read and written, too: enable, disable,
//	                                     or automatic (the default): where ranges are short and close
//	ind_rd_buffer_size,                  memory of a call of one process, for gaps and for memory that is not
//	ind_wr_buffer_size                   contiguous, 4 KiB to 1 GiB in bytes (4 MiB)
//	striping_unit, striping_factor       bytes, and servers, of a new file on a PVFS (what the file system has)
//	file_perm                            rights of a new file before the umask, octal (666)
//
// An aggregator uses up to four times cb_buffer_size, and more if the ranges that it gets are irregular and
// short: 32 bytes for each. Gaps are never read on a PVFS, which gets lists of ranges.
//
// # Errors
//
// Errors have a class, such as mpi.ErrNoSuchFile, and a sentence. An error of one process in a
// collective call is returned by all: by the process itself, and by the others with its rank. After
// a write that failed, the bytes that it was to write are undefined, and all others are as before.
//
// If the context of a collective call ends, or a process dies, the operation is abandoned. Then this
// call, and the same one in all other processes, returns an error, and the memory of the caller is
// free again. Bytes that were to be read or written are undefined. Unless the context ended before
// the operation had begun, later collective calls on the File fail, and so do those with the shared
// pointer; others still work. Close it, and open it again.
//
// # What lives where
//
// file.go opens and closes files, mode.go and hints.go say how. setview.go has views, datarep.go
// representations of the program's own, pointer.go, size.go and atomic.go what is set besides.
// individual.go, at.go, shared.go and split.go are the calls that read and write; run.go begins them,
// access.go does it alone, collective.go together. turn.go keeps operations in order, request.go makes
// requests, hook.go shows calls to the hook, store.go finds the storage of a name.
//
// dir.go has directories, which the standard does not know: their names, renamed in one step.
//
// Below, in internal: view maps views to byte ranges (ranges). storage is the interface to stored
// files, which posix and pvfs implement; sieve plans for posix. twophase plans collective operations,
// exchange carries them out. shared has the shared pointer. In mpi/internal, memory is the user's
// memory, and team has the messages of all of them.
package file

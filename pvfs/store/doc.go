// Package store is what a file server keeps on its disk: objects with their attributes, the
// entries of directories, extended attributes and a few records of the server's own, all in one
// bbolt file and changed by transactions; and the bytes of datafiles, in plain local files.
//
// What belongs together goes into one Update, which happens wholly or not at all. Updates of many
// callers share one transaction of the disk, and so one fsync. Reads see the last state that
// was committed and wait for nobody.
//
// A datafile is there when its object is; its file of bytes is made by the first write, and goes
// away with the object. Errors wrap a syscall.Errno (ENOENT, EEXIST, ENOTEMPTY, ENODATA, ENOSPC,
// EROFS, EIO, ...), so errors.Is(err, fs.ErrNotExist) holds and proto.StatusOf has the status.
// No damage of the files makes the package panic.
//
// The records and the folders are described in docs/pvfs-storage.md.
package store

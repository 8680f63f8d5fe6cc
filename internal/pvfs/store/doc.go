// Package store keeps a file server's data on its disk. Objects with their attributes, the entries of directories, extended
// attributes and some records of the server are in one bbolt file, and changed by transactions. The bytes of datafiles are in
// plain local files.
//
// Changes that belong together go into one Update, which is made completely or not at all. Concurrent Updates share one
// transaction of the database, and so one fsync. Reads see the last committed state and wait for nothing.
//
// A datafile exists if its object does. Its local file is made by the first write, and removed with the object. Errors wrap a
// syscall.Errno (ENOENT, EEXIST, ENOTEMPTY, ENODATA, ENOSPC, EROFS, EIO, ...), so errors.Is(err, fs.ErrNotExist) works and
// proto.StatusOf gives the status. Damaged files never make the package panic.
//
// docs/internals/protocols/pvfs-storage.md describes the records and the folders.
package store

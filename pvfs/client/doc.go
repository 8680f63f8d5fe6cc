// Package client is a client of OrangeFS file systems, in the shape of os and io/fs.
//
// Mount finds a file system at any of its servers. An FS may be used by any number of goroutines. Methods of io/fs have the
// signatures and the strict names of that package. All others take a context first, and names as in package os: parts separated
// by slashes, with or without one at the beginning, "." and ".." as usual. WithContext returns a view whose io/fs methods use a
// context, As a view that acts for another user. This package imports no network method of package bmi: the program chooses them.
//
// # Caches
//
// Like stock clients, this client caches attributes for a minute, sizes for ten seconds and names for three; see Options. All
// views see its own changes at once. Other clients' changes may be seen only after that time. A capability comes from a server
// with the attributes and is sent with a request. It is renewed before it expires.
//
// # Errors
//
// Errors are *fs.PathError or *os.LinkError. They wrap the proto.Status that a server answered, which matches fs.ErrNotExist,
// syscall.ENOTEMPTY and so on. If no server answered, they wrap an rpc.CallError: rpc.ErrNotSent means that nothing happened,
// rpc.ErrNoAnswer that the operation may have been carried out. Requests are first repeated as the file system's configuration
// says. An operation of several requests undoes the first if a later one is refused. It undoes nothing while the result of a
// request is not known, so that no name ever refers to a missing object.
//
// # Files
//
// mount.go and call.go talk to servers. user.go has the users, limits.go the limits of the caches, and inode.go, table.go and
// names.go the caches. walk.go resolves paths, and dirent.go changes the entries of directories. One file for each group of
// operations uses them: make.go, remove.go, rename.go, readdir.go, setattr.go, xattr.go, space.go. The files that begin with
// file, io and vector move the bytes of files.
package client

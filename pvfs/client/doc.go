// Package client is a client of OrangeFS file systems, in the shape of os and io/fs.
//
// Mount finds a file system at any of its servers. An FS is then safe for any number of
// goroutines. Methods that io/fs has carry its signatures and its strict names; all others take
// a context first and names as os has them: slashes between the parts, one at the beginning or
// not, "." and ".." as usual. WithContext gives a view whose io/fs methods use a context, As
// one that acts for another user. No method of package bmi is imported here: the program
// chooses what it carries.
//
// # What is kept
//
// Attributes are kept for a minute, sizes for ten seconds, names for three, as stock clients do;
// see Options. What this client itself changes it sees at once, through every view. Another
// client's changes may be seen as late as that. A capability, which a server issues with
// the attributes and which goes with a request, is renewed before it expires.
//
// # What an error says
//
// Errors are *fs.PathError or *os.LinkError. Below is the proto.Status that a server answered, which
// matches fs.ErrNotExist, syscall.ENOTEMPTY and so on; or, if no server answered, an rpc.CallError:
// rpc.ErrNotSent means that nothing happened, rpc.ErrNoAnswer that the operation may have
// been carried out. Requests are repeated first, as the file system's configuration says. An
// operation that takes several requests undoes the first if a later one is refused; it undoes nothing as long as it
// is not known what became of a request, so that no name ever points to nothing.
//
// # Where things are
//
// mount.go and call.go talk to servers; user.go says for whom; limits.go is how much is kept; inode.go, table.go and names.go are what is kept;
// walk.go resolves paths, dirent.go changes directories' entries, and one file for each group of
// operations uses them: make.go, remove.go, rename.go, readdir.go, setattr.go, xattr.go, space.go. Bytes of files are in
// the files that begin with file, io and vector.
package client

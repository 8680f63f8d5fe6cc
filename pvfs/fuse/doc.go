// Package fuse shows a mounted client's file system to every program, as a directory: it serves
// the kernel's FUSE requests with package client. It runs on Linux.
//
// New mounts and serves until Close, or until somebody unmounts the directory.
//
// # What is kept
//
// The kernel keeps attributes and names for a second (see Options), and the bytes of files while
// they are open; beyond that the client's times apply. Writes go to the servers at once. What another
// client changed may be seen as late as both allow, except when a file is opened: that asks.
//
// The kernel drops the bytes of an open file when it gets a new size or time of modification. Times are whole seconds, so
// that is not enough, and the mount makes it drop them in other cases as well (fresh.go).
//
// # Whose rights
//
// The kernel checks modes itself (default_permissions), and the servers do again. With Options.Callers requests
// are made for the user and the groups of the calling process, otherwise for the client's user. A
// file that is open is used with the rights of who opened it.
//
// # What differs from a local file system
//
// Times are whole seconds. There are no hard links, no device files and no sticky bit. A file whose name goes while it
// is open lives until it is closed, if this mount removed it. Locks are the kernel's: they hold on this machine only. What is
// written to a file that was opened with O_APPEND goes where the file ends then; of two mounts that append at the same
// moment, one may overwrite what the other writes.
//
// # Where things are
//
// mount.go mounts and unmounts, place.go looks where, device.go finds why that cannot be; caller.go says for whom a request
// is; node.go has what all operations on names share, names.go, attrs.go, setattr.go and xattr.go are these operations,
// setid.go what the kernel leaves to them; file.go has open files, fresh.go what the kernel keeps of them, dir.go open directories, errno.go errors.
package fuse

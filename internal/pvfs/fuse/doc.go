// Package fuse shows a mounted client's file system to all programs as a directory. It serves the kernel's FUSE requests with
// package client. It runs on Linux.
//
// New mounts and serves until Close, or until the directory is unmounted.
//
// # Caches
//
// The kernel caches attributes and names for a second (see Options), and the data of files while they are open. Behind that the
// client has its caches. Writes go to the servers at once. Another client's changes may be seen only after both caches have
// expired, except that an open asks the server.
//
// The kernel drops the cached data of an open file when it gets a new size or mtime. Times are whole seconds, so that is not
// enough. The mount makes the kernel drop the data in other cases as well (fresh.go).
//
// # Users and rights
//
// The kernel checks modes itself (default_permissions), and the servers check them again. With Options.Callers, a request is made
// for the user and the groups of the calling process, otherwise for the client's user. An open file is used with the rights of
// the process that opened it.
//
// # Differences from a local file system
//
// Times are whole seconds. There are no hard links, no device files and no sticky bit. A file whose name is removed while it is
// open lives until it is closed, if this mount removed the name. Locks are the kernel's and hold on this machine only. A write
// with O_APPEND goes to the present end of the file. If two mounts append at the same moment, one may overwrite the other's data.
//
// # Files
//
// mount.go mounts and unmounts, place.go finds the directory, and device.go checks whether this is possible. caller.go has the
// users of requests. node.go has the common part of all operations on names; names.go, attrs.go, setattr.go and xattr.go are the
// operations. setid.go handles the set-id bits. file.go has open files, fresh.go the kernel's cache of their data, dir.go open
// directories, and errno.go errors.
package fuse

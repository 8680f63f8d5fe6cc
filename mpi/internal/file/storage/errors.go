package storage

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A cause is an error of a file system with its class and what to do.
type cause struct {
	err   error
	class errclass.Class
	text  string
}

// causes: the first one that matches applies.
var causes = []cause{
	{syscall.EROFS, errclass.ReadOnly, "the file system is read-only: choose another one"},
	{syscall.ENOSPC, errclass.NoSpace, "the file system is full: make room"},
	{syscall.EDQUOT, errclass.Quota, "the quota is used up: remove files, or ask for more"},
	{syscall.ETXTBSY, errclass.FileInUse, "the file is a program that is running: end it first"},
	{syscall.EBUSY, errclass.FileInUse, "the file is in use: try again later"},
	{syscall.EISDIR, errclass.BadFile, "it is a directory: name a file"},
	{syscall.ENOTDIR, errclass.BadFile, "a part of the path is not a directory: check the name"},
	{syscall.ENAMETOOLONG, errclass.BadFile, "the name is too long"},
	{syscall.ELOOP, errclass.BadFile, "the name has a loop of symbolic links, or too many of them"},
	{syscall.ENOLCK, errclass.UnsupportedOperation, "the file system has no locks, which this needs"},
	{syscall.EFBIG, errclass.IO, "the file would be larger than the file system or the process limit (ulimit -f) allows"},
	{syscall.EMFILE, errclass.Other, "the process has too many open files: close some, or raise the limit (ulimit -n)"},
	{fs.ErrNotExist, errclass.NoSuchFile, "there is no such file: check the name, or give ModeCreate"},
	{fs.ErrExist, errclass.FileExists, "the file exists already: remove it, or leave out ModeExcl"},
	{fs.ErrPermission, errclass.Access, "this user may not do that: check the rights of the file and of its directory"},
	{fs.ErrClosed, errclass.File, "the file is closed"},
}

// Error gives an error of a file system its class. nil stays nil, and the end of a context and
// errors that have a class stay as they are.
func Error(err error, doing string) error {
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errclass.Of(err) != errclass.Other:
		return err
	}
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return errclass.Wrap(c.class, err, "%s: %s", doing, c.text)
		}
	}
	return errclass.Wrap(errclass.IO, err, "%s", doing)
}

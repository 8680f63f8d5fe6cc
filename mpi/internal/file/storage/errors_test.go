package storage

import (
	"context"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestErrors: errors of the operating system and of servers have the classes of the standard.
func TestErrors(t *testing.T) {
	for err, class := range map[error]errclass.Class{
		syscall.ENOENT:       errclass.NoSuchFile,
		syscall.EEXIST:       errclass.FileExists,
		syscall.EACCES:       errclass.Access,
		syscall.EPERM:        errclass.Access,
		syscall.ENOSPC:       errclass.NoSpace,
		syscall.EDQUOT:       errclass.Quota,
		syscall.EROFS:        errclass.ReadOnly,
		syscall.ETXTBSY:      errclass.FileInUse,
		syscall.EISDIR:       errclass.BadFile,
		syscall.ENAMETOOLONG: errclass.BadFile,
		syscall.EIO:          errclass.IO,
		syscall.EFBIG:        errclass.IO,
		syscall.ENOLCK:       errclass.UnsupportedOperation,
		fs.ErrClosed:         errclass.File,
		proto.ENOENT:         errclass.NoSuchFile,
		proto.ENOSPC:         errclass.NoSpace,
		proto.EACCES:         errclass.Access,
		proto.EIO:            errclass.IO,
	} {
		got := Error(fmt.Errorf("below: %w", err), "read file")
		assert.ErrorIs(t, got, class)
		assert.ErrorIs(t, got, err)
		assert.Contains(t, got.Error(), "read file")
	}
	assert.NoError(t, Error(nil, "read file"))
	assert.Equal(t, context.Canceled, Error(context.Canceled, "read file"))
	classed := errclass.New(errclass.Truncate, "text")
	assert.Equal(t, classed, Error(classed, "read file"))
}

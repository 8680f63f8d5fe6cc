package fuse

import (
	"context"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func TestErrno(t *testing.T) {
	for _, c := range []struct {
		err  error
		want syscall.Errno
	}{
		{nil, 0},
		{&fs.PathError{Op: "open", Path: "f", Err: proto.EACCES}, syscall.EACCES},
		{fmt.Errorf("two: %w", fmt.Errorf("one: %w", proto.ENOTEMPTY)), syscall.ENOTEMPTY},
		{proto.ENOSYS, syscall.EOPNOTSUPP},
		{proto.EAGAIN, syscall.EIO},
		{proto.ECANCEL, syscall.EINTR},
		{proto.ENOTPVFS, syscall.EIO},
		{fs.ErrClosed, syscall.EBADF},
		{context.Canceled, syscall.EINTR},
		{context.DeadlineExceeded, syscall.ETIMEDOUT},
		{syscall.EFBIG, syscall.EFBIG},
		{fmt.Errorf("something else"), syscall.EIO},
	} {
		assert.Equal(t, c.want, errno(c.err), "%v", c.err)
	}
}

func TestGroupsInStatus(t *testing.T) {
	assert.Equal(t, []uint32{4, 24, 1000}, groupsIn("Name:\tls\nGid:\t7\t7\t7\t7\nGroups:\t4 24 1000 \nVmPeak:\t1 kB\n"))
	assert.Nil(t, groupsIn("Name:\tls\nGroups:\t \n"))
	assert.Nil(t, groupsIn(""))
	assert.Nil(t, groupsIn("Groups"))
}

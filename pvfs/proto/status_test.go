package proto

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The numbers, from captures and from the OrangeFS sources.
func TestStatusNumbers(t *testing.T) {
	for s, want := range map[Status]int32{
		ENOENT: -1073741826, EEXIST: -1073741835, EINVAL: -1073741839, ENOTEMPTY: -1073741850,
		EPROTO: -1073741862, EACCES: -1073741882, ENOSYS: -1073741849, EROFS: -1073741843,
		ERANGE: -1073741884, ECANCEL: -(1<<30 | 1<<29 | 1),
	} {
		assert.EqualValues(t, want, s, s.Name())
	}
	assert.Len(t, statuses, 49+9)
}

func TestStatusIs(t *testing.T) {
	for _, c := range []struct {
		s  Status
		is []error
	}{
		{ENOENT, []error{fs.ErrNotExist, os.ErrNotExist, syscall.ENOENT}},
		{EEXIST, []error{fs.ErrExist, syscall.EEXIST}},
		{ENOTEMPTY, []error{fs.ErrExist, syscall.ENOTEMPTY}},
		{EACCES, []error{fs.ErrPermission, syscall.EACCES}},
		{EPERM, []error{fs.ErrPermission, syscall.EPERM}},
		{EINVAL, []error{fs.ErrInvalid, syscall.EINVAL}},
		{EBADF, []error{fs.ErrClosed, syscall.EBADF}},
		{ENOSYS, []error{errors.ErrUnsupported, syscall.ENOSYS}},
		{EOPNOTSUPP, []error{errors.ErrUnsupported, syscall.EOPNOTSUPP}},
		{ETIMEDOUT, []error{context.DeadlineExceeded, os.ErrDeadlineExceeded, syscall.ETIMEDOUT}},
		{ECANCEL, []error{context.Canceled, syscall.ECANCELED}},
		{EAGAIN, []error{syscall.EAGAIN}},
		{ETRYAGAIN, []error{syscall.EAGAIN}},
		{ENOSPC, []error{syscall.ENOSPC}},
		{ESECURITY, nil},
		{OK, nil},
		{-5, nil},
		{math.MinInt32, nil},
	} {
		wrapped := fmt.Errorf("wrapped: %w", c.s)
		for _, target := range c.is {
			assert.ErrorIs(t, wrapped, target, c.s.Name())
		}
		for _, other := range []error{
			fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrClosed, errors.ErrUnsupported,
			context.Canceled, context.DeadlineExceeded, syscall.ENOTSUP, syscall.EDOM, syscall.Errno(0), ESECURITY + 1, errors.New("x"),
		} {
			want := false
			for _, target := range c.is {
				want = want || errors.Is(target, other)
			}
			assert.Equal(t, want, errors.Is(wrapped, other), "%s, %v", c.s.Name(), other)
		}
	}
}

// Answers to I/O include the class of the failed component. The status is the same.
func TestStatusClass(t *testing.T) {
	trove := -(-ENOENT | 2<<7)
	assert.Equal(t, ENOENT, trove.Base())
	assert.ErrorIs(t, trove, ENOENT)
	assert.ErrorIs(t, trove, fs.ErrNotExist)
	assert.Equal(t, "ENOENT", trove.Name())
	assert.Equal(t, "no such file or directory", trove.Error())
	assert.Equal(t, syscall.ENOENT, trove.Errno())
	assert.Equal(t, OK, OK.Base())
	assert.Equal(t, Status(5), Status(5).Base())
}

func TestStatusText(t *testing.T) {
	assert.Equal(t, "OK", OK.Name())
	assert.Equal(t, "no error", OK.Error())
	assert.Equal(t, "Status(-5)", Status(-5).Name())
	assert.Equal(t, "unknown status -5", Status(-5).Error())
	assert.Equal(t, syscall.Errno(0), OK.Errno())
	assert.Equal(t, syscall.EIO, Status(-5).Errno())
	assert.Equal(t, syscall.EIO, ESECURITY.Errno())
	assert.NoError(t, OK.Err())
	assert.Equal(t, ENOENT, ENOENT.Err())
	seen := make(map[string]Status)
	for s, k := range statuses {
		assert.NotContains(t, seen, k.name)
		seen[k.name] = s
		assert.Equal(t, s, s.Base(), k.name)
		assert.Equal(t, k.text, s.Error())
	}
}

func TestStatusOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Status
	}{
		{nil, OK},
		{ENOTDIR, ENOTDIR},
		{fmt.Errorf("x: %w", ENOTDIR), ENOTDIR},
		{syscall.ENOSPC, ENOSPC},
		{syscall.EAGAIN, EAGAIN},
		{syscall.ECANCELED, ECANCEL},
		{syscall.EDOM, EIO},
		{&fs.PathError{Op: "open", Path: "p", Err: syscall.EROFS}, EROFS},
		{&fs.PathError{Op: "open", Path: "p", Err: fs.ErrNotExist}, ENOENT},
		{fs.ErrExist, EEXIST},
		{fs.ErrPermission, EACCES},
		{fs.ErrInvalid, EINVAL},
		{fs.ErrClosed, EBADF},
		{context.DeadlineExceeded, ETIMEDOUT},
		{os.ErrDeadlineExceeded, ETIMEDOUT},
		{context.Canceled, ECANCEL},
		{errors.ErrUnsupported, EOPNOTSUPP},
		{ErrMalformed, EPROTO},
		{ErrVersion, EPROTO},
		{ErrEncoding, EPROTO},
		{ErrUnknownOp, EPROTO},
		{errors.New("anything"), EIO},
	} {
		assert.Equal(t, c.want, StatusOf(c.err), "%v", c.err)
	}
	for s, k := range statuses {
		if k.errno != 0 && s != EWOULDBLOCK && s != ETRYAGAIN {
			assert.Equal(t, s, StatusOf(k.errno), k.name)
		}
	}
}

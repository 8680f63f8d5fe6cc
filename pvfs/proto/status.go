package proto

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Status is the result of a request: 0, or an error. An error is negative: minus the sum of StatusBit and a code of the protocol,
// which is not a Linux errno. It may have statusOther set, which marks a second series of codes, and the class of the failed
// component. These two do not change the meaning.
//
// A Status other than 0 is an error. errors.Is matches it with the corresponding errors of io/fs, context and syscall.
type Status int32

// The parts of a Status, without its sign.
const (
	statusBit   = 1 << 30
	statusOther = 1 << 29
	statusClass = 7 << 7
)

// The statuses. OK is no error.
const (
	OK              Status = 0
	EPERM           Status = -(statusBit | 1)
	ENOENT          Status = -(statusBit | 2)
	EINTR           Status = -(statusBit | 3)
	EIO             Status = -(statusBit | 4)
	ENXIO           Status = -(statusBit | 5)
	EBADF           Status = -(statusBit | 6)
	EAGAIN          Status = -(statusBit | 7)
	ENOMEM          Status = -(statusBit | 8)
	EFAULT          Status = -(statusBit | 9)
	EBUSY           Status = -(statusBit | 10)
	EEXIST          Status = -(statusBit | 11)
	ENODEV          Status = -(statusBit | 12)
	ENOTDIR         Status = -(statusBit | 13)
	EISDIR          Status = -(statusBit | 14)
	EINVAL          Status = -(statusBit | 15)
	EMFILE          Status = -(statusBit | 16)
	EFBIG           Status = -(statusBit | 17)
	ENOSPC          Status = -(statusBit | 18)
	EROFS           Status = -(statusBit | 19)
	EMLINK          Status = -(statusBit | 20)
	EPIPE           Status = -(statusBit | 21)
	EDEADLK         Status = -(statusBit | 22)
	ENAMETOOLONG    Status = -(statusBit | 23)
	ENOLCK          Status = -(statusBit | 24)
	ENOSYS          Status = -(statusBit | 25)
	ENOTEMPTY       Status = -(statusBit | 26)
	ELOOP           Status = -(statusBit | 27)
	EWOULDBLOCK     Status = -(statusBit | 28)
	ENOMSG          Status = -(statusBit | 29)
	ENODATA         Status = -(statusBit | 33)
	ETIME           Status = -(statusBit | 34)
	EREMOTE         Status = -(statusBit | 36)
	ECOMM           Status = -(statusBit | 37)
	EPROTO          Status = -(statusBit | 38)
	EBADMSG         Status = -(statusBit | 39)
	EOVERFLOW       Status = -(statusBit | 40)
	EMSGSIZE        Status = -(statusBit | 42)
	EPROTONOSUPPORT Status = -(statusBit | 45)
	EOPNOTSUPP      Status = -(statusBit | 46)
	EADDRINUSE      Status = -(statusBit | 47)
	ENOBUFS         Status = -(statusBit | 52)
	ETIMEDOUT       Status = -(statusBit | 53)
	ECONNREFUSED    Status = -(statusBit | 54)
	EHOSTDOWN       Status = -(statusBit | 55)
	EHOSTUNREACH    Status = -(statusBit | 56)
	EALREADY        Status = -(statusBit | 57)
	EACCES          Status = -(statusBit | 58)
	ECONNRESET      Status = -(statusBit | 59)
	ERANGE          Status = -(statusBit | 60)

	// The second series. Stock servers send its codes without the bit that marks them, except in answers to I/O.
	ECANCEL    Status = -(statusBit | statusOther | 1)
	EDEVINIT   Status = -(statusBit | statusOther | 2)
	EDETAIL    Status = -(statusBit | statusOther | 3)
	EHOSTNTFD  Status = -(statusBit | statusOther | 4)
	EADDRNTFD  Status = -(statusBit | statusOther | 5)
	ENORECVR   Status = -(statusBit | statusOther | 6)
	ETRYAGAIN  Status = -(statusBit | statusOther | 7)
	ENOTPVFS   Status = -(statusBit | statusOther | 8)
	ESECURITY  Status = -(statusBit | statusOther | 9)
	statusLast        = 9 // of the second series
)

// A known status: its name, its text, and its errno; 0 for none.
type known struct {
	name  string
	text  string
	errno syscall.Errno
}

var statuses = map[Status]known{
	EPERM:           {"EPERM", "operation not permitted", syscall.EPERM},
	ENOENT:          {"ENOENT", "no such file or directory", syscall.ENOENT},
	EINTR:           {"EINTR", "interrupted", syscall.EINTR},
	EIO:             {"EIO", "input/output error", syscall.EIO},
	ENXIO:           {"ENXIO", "no such device or address", syscall.ENXIO},
	EBADF:           {"EBADF", "bad file", syscall.EBADF},
	EAGAIN:          {"EAGAIN", "try again", syscall.EAGAIN},
	ENOMEM:          {"ENOMEM", "out of memory", syscall.ENOMEM},
	EFAULT:          {"EFAULT", "bad address", syscall.EFAULT},
	EBUSY:           {"EBUSY", "busy", syscall.EBUSY},
	EEXIST:          {"EEXIST", "file exists", syscall.EEXIST},
	ENODEV:          {"ENODEV", "no such device", syscall.ENODEV},
	ENOTDIR:         {"ENOTDIR", "not a directory", syscall.ENOTDIR},
	EISDIR:          {"EISDIR", "is a directory", syscall.EISDIR},
	EINVAL:          {"EINVAL", "invalid argument", syscall.EINVAL},
	EMFILE:          {"EMFILE", "too many open files", syscall.EMFILE},
	EFBIG:           {"EFBIG", "file too large", syscall.EFBIG},
	ENOSPC:          {"ENOSPC", "no space left", syscall.ENOSPC},
	EROFS:           {"EROFS", "read-only file system", syscall.EROFS},
	EMLINK:          {"EMLINK", "too many links", syscall.EMLINK},
	EPIPE:           {"EPIPE", "broken pipe", syscall.EPIPE},
	EDEADLK:         {"EDEADLK", "deadlock avoided", syscall.EDEADLK},
	ENAMETOOLONG:    {"ENAMETOOLONG", "file name too long", syscall.ENAMETOOLONG},
	ENOLCK:          {"ENOLCK", "no locks left", syscall.ENOLCK},
	ENOSYS:          {"ENOSYS", "function not implemented", syscall.ENOSYS},
	ENOTEMPTY:       {"ENOTEMPTY", "directory not empty", syscall.ENOTEMPTY},
	ELOOP:           {"ELOOP", "too many symbolic links", syscall.ELOOP},
	EWOULDBLOCK:     {"EWOULDBLOCK", "would block", syscall.EWOULDBLOCK},
	ENOMSG:          {"ENOMSG", "no message of that type", syscall.ENOMSG},
	ENODATA:         {"ENODATA", "no such attribute", syscall.ENODATA},
	ETIME:           {"ETIME", "timer expired", syscall.ETIME},
	EREMOTE:         {"EREMOTE", "object is remote", syscall.EREMOTE},
	ECOMM:           {"ECOMM", "communication error on send", syscall.ECOMM},
	EPROTO:          {"EPROTO", "protocol error", syscall.EPROTO},
	EBADMSG:         {"EBADMSG", "bad message", syscall.EBADMSG},
	EOVERFLOW:       {"EOVERFLOW", "value too large", syscall.EOVERFLOW},
	EMSGSIZE:        {"EMSGSIZE", "message too long", syscall.EMSGSIZE},
	EPROTONOSUPPORT: {"EPROTONOSUPPORT", "protocol not supported", syscall.EPROTONOSUPPORT},
	EOPNOTSUPP:      {"EOPNOTSUPP", "operation not supported", syscall.EOPNOTSUPP},
	EADDRINUSE:      {"EADDRINUSE", "address in use", syscall.EADDRINUSE},
	ENOBUFS:         {"ENOBUFS", "no buffer space", syscall.ENOBUFS},
	ETIMEDOUT:       {"ETIMEDOUT", "timed out", syscall.ETIMEDOUT},
	ECONNREFUSED:    {"ECONNREFUSED", "connection refused", syscall.ECONNREFUSED},
	EHOSTDOWN:       {"EHOSTDOWN", "host is down", syscall.EHOSTDOWN},
	EHOSTUNREACH:    {"EHOSTUNREACH", "no route to host", syscall.EHOSTUNREACH},
	EALREADY:        {"EALREADY", "already in progress", syscall.EALREADY},
	EACCES:          {"EACCES", "permission denied", syscall.EACCES},
	ECONNRESET:      {"ECONNRESET", "connection reset", syscall.ECONNRESET},
	ERANGE:          {"ERANGE", "result out of range", syscall.ERANGE},
	ECANCEL:         {"ECANCEL", "canceled", syscall.ECANCELED},
	EDEVINIT:        {"EDEVINIT", "device not initialised", 0},
	EDETAIL:         {"EDETAIL", "several errors", 0},
	EHOSTNTFD:       {"EHOSTNTFD", "host not found", 0},
	EADDRNTFD:       {"EADDRNTFD", "address not found", 0},
	ENORECVR:        {"ENORECVR", "no receiver", 0},
	ETRYAGAIN:       {"ETRYAGAIN", "try again", syscall.EAGAIN},
	ENOTPVFS:        {"ENOTPVFS", "not of this file system", 0},
	ESECURITY:       {"ESECURITY", "security error", 0},
}

// byErrno maps errno to status. If several statuses have one errno (on Linux EAGAIN is EWOULDBLOCK), it has the smallest code.
var byErrno = func() map[syscall.Errno]Status {
	m := make(map[syscall.Errno]Status, len(statuses))
	for s, k := range statuses {
		if old, ok := m[k.errno]; k.errno != 0 && (!ok || s > old) {
			m[k.errno] = s
		}
	}
	return m
}()

// Base is the status without the class of the failed component: one of the constants, if the status is known.
func (s Status) Base() Status {
	if s >= 0 {
		return s
	}
	return -(-s &^ statusClass)
}

// Name is the name of the constant, or the number as text.
func (s Status) Name() string {
	if s == 0 {
		return "OK"
	}
	if k, ok := statuses[s.Base()]; ok {
		return k.name
	}
	return fmt.Sprintf("Status(%d)", int32(s))
}

// Error is the text of the status.
func (s Status) Error() string {
	if s == 0 {
		return "no error"
	}
	if k, ok := statuses[s.Base()]; ok {
		return k.text
	}
	return fmt.Sprintf("unknown status %d", int32(s))
}

// Err is nil for OK, and the status otherwise.
func (s Status) Err() error {
	if s == 0 {
		return nil
	}
	return s
}

// Errno is the errno of the status; 0 for OK, EIO if there is none.
func (s Status) Errno() syscall.Errno {
	if s == 0 {
		return 0
	}
	if k := statuses[s.Base()]; k.errno != 0 {
		return k.errno
	}
	return syscall.EIO
}

// Is reports whether the status corresponds to an error of io/fs, context or syscall, or is the same status with another class.
func (s Status) Is(target error) bool {
	switch t := target.(type) {
	case Status:
		return s.Base() == t.Base()
	case syscall.Errno:
		k, ok := statuses[s.Base()]
		return ok && k.errno == t && t != 0
	}
	switch target {
	case context.DeadlineExceeded, os.ErrDeadlineExceeded:
		return s.Base() == ETIMEDOUT
	case context.Canceled:
		return s.Base() == ECANCEL
	case fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, errors.ErrUnsupported:
		k, ok := statuses[s.Base()]
		return ok && k.errno.Is(target)
	case fs.ErrInvalid:
		return s.Base() == EINVAL
	case fs.ErrClosed:
		return s.Base() == EBADF
	}
	return false
}

// StatusOf is the status to send for an error: the Status in it, or the one for its errno or for an error of io/fs or context in
// it; EPROTO for a message that does not decode; EIO for any other; OK for nil.
func StatusOf(err error) Status {
	var (
		s     Status
		errno syscall.Errno
	)
	switch {
	case err == nil:
		return OK
	case errors.As(err, &s):
		return s
	case errors.As(err, &errno):
		if s, ok := byErrno[errno]; ok {
			return s
		}
		return EIO
	}
	for _, m := range []struct {
		is   error
		then Status
	}{
		{fs.ErrNotExist, ENOENT},
		{fs.ErrExist, EEXIST},
		{fs.ErrPermission, EACCES},
		{fs.ErrInvalid, EINVAL},
		{fs.ErrClosed, EBADF},
		{context.DeadlineExceeded, ETIMEDOUT},
		{os.ErrDeadlineExceeded, ETIMEDOUT},
		{context.Canceled, ECANCEL},
		{errors.ErrUnsupported, EOPNOTSUPP},
		{ErrVersion, EPROTO},
		{ErrEncoding, EPROTO},
		{ErrUnknownOp, EPROTO},
		{ErrMalformed, EPROTO},
	} {
		if errors.Is(err, m.is) {
			return m.then
		}
	}
	return EIO
}

package mpi

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// An Error is a failed call: its class, and a sentence that says what to do (MPI-4.1, 9.3).
// errors.As finds it, and errors.Is(err, mpi.ErrTruncate) its class.
type Error = errclass.Error

// An ErrorClass is one of the standard's error classes (MPI-4.1, 9.4).
type ErrorClass = errclass.Class

// The error classes of the standard, those of files (MPI-4.1, 14.7), and those of user-level failure
// mitigation (ULFM).
const (
	Success                 = errclass.Success
	ErrBuffer               = errclass.Buffer
	ErrCount                = errclass.Count
	ErrType                 = errclass.Type
	ErrTag                  = errclass.Tag
	ErrComm                 = errclass.Comm
	ErrRank                 = errclass.Rank
	ErrRequest              = errclass.Request
	ErrRoot                 = errclass.Root
	ErrGroup                = errclass.Group
	ErrOp                   = errclass.Op
	ErrTopology             = errclass.Topology
	ErrDims                 = errclass.Dims
	ErrArg                  = errclass.Arg
	ErrUnknown              = errclass.Unknown
	ErrTruncate             = errclass.Truncate
	ErrOther                = errclass.Other
	ErrIntern               = errclass.Intern
	ErrPending              = errclass.Pending
	ErrInStatus             = errclass.InStatus
	ErrNoMem                = errclass.NoMem
	ErrKeyval               = errclass.Keyval
	ErrInfo                 = errclass.Info
	ErrInfoKey              = errclass.InfoKey
	ErrInfoNoKey            = errclass.InfoNoKey
	ErrInfoValue            = errclass.InfoValue
	ErrName                 = errclass.Name
	ErrPort                 = errclass.Port
	ErrService              = errclass.Service
	ErrSpawn                = errclass.Spawn
	ErrUnsupportedOperation = errclass.UnsupportedOperation
	ErrSession              = errclass.Session
	ErrProcAborted          = errclass.ProcAborted
	ErrValueTooLarge        = errclass.ValueTooLarge
	ErrWin                  = errclass.Win
	ErrBase                 = errclass.Base
	ErrSize                 = errclass.Size
	ErrDisp                 = errclass.Disp
	ErrLocktype             = errclass.Locktype
	ErrAssert               = errclass.Assert
	ErrRMAConflict          = errclass.RMAConflict
	ErrRMASync              = errclass.RMASync
	ErrRMARange             = errclass.RMARange
	ErrRMAAttach            = errclass.RMAAttach
	ErrRMAShared            = errclass.RMAShared
	ErrRMAFlavor            = errclass.RMAFlavor
	ErrProcFailed           = errclass.ProcFailed
	ErrProcFailedPending    = errclass.ProcFailedPending
	ErrRevoked              = errclass.Revoked
	ErrFile                 = errclass.File
	ErrNotSame              = errclass.NotSame
	ErrAmode                = errclass.Amode
	ErrUnsupportedDatarep   = errclass.UnsupportedDatarep
	ErrNoSuchFile           = errclass.NoSuchFile
	ErrFileExists           = errclass.FileExists
	ErrBadFile              = errclass.BadFile
	ErrAccess               = errclass.Access
	ErrNoSpace              = errclass.NoSpace
	ErrQuota                = errclass.Quota
	ErrReadOnly             = errclass.ReadOnly
	ErrFileInUse            = errclass.FileInUse
	ErrDupDatarep           = errclass.DupDatarep
	ErrConversion           = errclass.Conversion
	ErrIO                   = errclass.IO
)

// An ErrorHandler is called with every error of a communicator's calls before the call returns it
// (MPI-4.1, 9.3). nil means MPI_ERRORS_RETURN, the default. A new communicator gets the handler of
// the one it is made from.
type ErrorHandler func(c *Comm, err error)

// ErrorsAreFatal ends the job with exit code 1 (MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT;
// MPI-4.1, 9.3).
func ErrorsAreFatal(c *Comm, err error) {
	// Abort returns if it cannot end the process, as in jobs whose ranks share a process. Then the
	// caller gets the error.
	_ = c.p.Abort(1, err.Error())
}

// SetErrorHandler makes h the handler for errors of later calls on c (MPI_Comm_set_errhandler;
// MPI-4.1, 9.3.1). Errors of calls without a communicator go to the handler of Process.Self.
func (c *Comm) SetErrorHandler(h ErrorHandler) (err error) {
	defer c.call("MPI_Comm_set_errhandler", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	if h == nil {
		c.onErr.Store(nil)
	} else {
		c.onErr.Store(&h)
	}
	return nil
}

// ErrorHandler returns the handler that SetErrorHandler set, or nil for MPI_ERRORS_RETURN
// (MPI_Comm_get_errhandler; MPI-4.1, 9.3.1).
func (c *Comm) ErrorHandler() ErrorHandler {
	if c == nil {
		return nil
	}
	if h := c.onErr.Load(); h != nil {
		return *h
	}
	return nil
}

// fail passes the error of a call on c to the error handler, and returns it. The end of the
// caller's context.Context is not an error of the communicator.
func (c *Comm) fail(err error) error {
	if c == nil || err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if h := c.onErr.Load(); h != nil {
		(*h)(c, err)
	}
	return err
}

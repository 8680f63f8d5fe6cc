package rpc

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Errors of calls, for errors.Is. The status of a response is not one of them: it is returned as a proto.Status.
var (
	// ErrNotSent: the request certainly did not reach the server. It may be sent again.
	ErrNotSent = errors.New("request not sent")
	// ErrNoAnswer: the server may or may not have carried out the request.
	ErrNoAnswer = errors.New("sent, but no answer came")
	// ErrTimeout accompanies one of these: the time is over.
	ErrTimeout = errors.New("the time is over")
	// ErrBadAnswer: the message received is not a response to the request.
	ErrBadAnswer = errors.New("the answer is no response to the request")
	// ErrTooLong: the request is larger than an unexpected message may be, 16384 bytes. The error is also ErrNotSent.
	ErrTooLong = errors.New("the request is too long")
	// ErrClosed: the Caller or Server is closed. It is also ErrNotSent.
	ErrClosed = errors.New("closed")
)

// A CallError says how far a request got.
type CallError struct {
	Op   proto.Op
	Peer string // the server's address
	Kind error  // ErrNotSent, ErrNoAnswer or ErrBadAnswer
	Err  error  // reason
}

// Error names the operation, the server and the reason.
func (e *CallError) Error() string {
	if e.Kind == ErrNotSent && (errors.Is(e.Err, bmi.ErrUnreachable) || errors.Is(e.Err, bmi.ErrRefused)) {
		return e.Err.Error() // it names the server, and no request can have been sent
	}
	return fmt.Sprintf("internal/pvfs/rpc: request %d to %s: %v: %v", int32(e.Op), e.Peer, e.Kind, e.Err)
}

// Unwrap returns both errors.
func (e *CallError) Unwrap() []error { return []error{e.Kind, e.Err} }

// Idempotent reports whether op may be carried out twice, so that it may be sent again after ErrNoAnswer.
func Idempotent(op proto.Op) bool {
	switch op {
	case proto.OpIO, proto.OpSmallIO, proto.OpGetAttr, proto.OpSetAttr, proto.OpLookupPath, proto.OpTruncate,
		proto.OpReadDir, proto.OpGetConfig, proto.OpFlush, proto.OpSetParam, proto.OpNoop, proto.OpStatFS,
		proto.OpPerfMon, proto.OpIterateHandles, proto.OpDspaceInfo, proto.OpEventMon, proto.OpGetDirdataHandle,
		proto.OpGetEattr, proto.OpListEattr, proto.OpListAttr, proto.OpUnstuff, proto.OpTreeGetFileSize,
		proto.OpGetUID, proto.OpTreeSetAttr, proto.OpGetDirent, proto.OpTreeGetAttr:
		return true
	}
	return false
}

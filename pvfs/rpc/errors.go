package rpc

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Errors of calls, for errors.Is. A response with a status is not among them: it is returned
// as its proto.Status.
var (
	// ErrNotSent: the request certainly did not reach the server. It may be sent again.
	ErrNotSent = errors.New("request not sent")
	// ErrNoAnswer: the server may have carried the request out, or not.
	ErrNoAnswer = errors.New("sent, but no answer came")
	// ErrTimeout goes with one of them: the time is over.
	ErrTimeout = errors.New("the time is over")
	// ErrBadAnswer: what came is no response to the request.
	ErrBadAnswer = errors.New("the answer is no response to the request")
	// ErrTooLong: the request is over the limit of an unexpected message, 16384 bytes. It is
	// also ErrNotSent.
	ErrTooLong = errors.New("the request is too long")
	// ErrClosed: the Caller or Server is closed. It is also ErrNotSent.
	ErrClosed = errors.New("closed")
)

// A CallError says what became of a request.
type CallError struct {
	Op   proto.Op
	Peer string // the server's address
	Kind error  // ErrNotSent, ErrNoAnswer or ErrBadAnswer
	Err  error  // why
}

// Error names the operation, the server and the reason.
func (e *CallError) Error() string {
	return fmt.Sprintf("pvfs/rpc: operation %d to %s: %v: %v", int32(e.Op), e.Peer, e.Kind, e.Err)
}

// Unwrap gives both errors.
func (e *CallError) Unwrap() []error { return []error{e.Kind, e.Err} }

// Idempotent tells whether doing op twice is as good as once, so that it may be sent again
// after ErrNoAnswer.
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

package rpc

import (
	"context"
	"iter"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Caller sends requests. All its methods may be called by any goroutine.
type Caller struct {
	ep  *bmi.Endpoint
	opt Options
}

// NewCaller makes a Caller that uses ep, which stays the caller's to close, after Close.
func NewCaller(ep *bmi.Endpoint, opt Options) *Caller { return &Caller{ep: ep, opt: opt} }

// Close ends the calls under way with ErrClosed, and waits until they gave back all memory.
func (c *Caller) Close() error { return nil }

// Call sends a request to a server and waits for its response, which it decodes into resp. h
// may be nil. The error is the proto.Status of a response, or a *CallError. Nothing of req, h
// and resp is used any more when Call returns.
func (c *Caller) Call(ctx context.Context, to bmi.Addr, h *proto.Header, req proto.Request, resp proto.Response) error {
	return ErrClosed
}

// A Flow is one IO request and the memory of its bytes.
type Flow struct {
	To      bmi.Addr
	Header  *proto.Header
	Request *proto.IOReq // Type is set by WriteFlow and ReadFlow

	// Total is how many bytes of the datafile belong to the request: the sum over Memory.
	Total int64
	// Memory gives the pieces in the order of their place in the datafile. It is gone through
	// once, by one goroutine. See Bytes.
	Memory iter.Seq[[]byte]
	// Below is how many of the Total bytes lie below a datafile's size: what a server sends of
	// a datafile of this size. nil: the bytes are one run that begins at Offset.
	Below func(size int64) int64
	// Offset is where the bytes begin in the datafile, if Below is nil.
	Offset int64

	// BufferSize and Buffers are in place of Options.FlowBufferSize and FlowBuffers, if not 0.
	BufferSize, Buffers int
}

// Bytes is the Memory of a flow that lies in one piece.
func Bytes(b []byte) iter.Seq[[]byte] { return func(yield func([]byte) bool) { yield(b) } }

// FlowResult is what a flow did.
type FlowResult struct {
	Size  int64 // of the datafile: before a write, now for a read
	Moved int64 // bytes written, or read into the first pieces of Memory
}

// WriteFlow writes the bytes of Memory to a datafile, straight from there. They must not be
// changed until it returns. An error may leave some of them written.
func (c *Caller) WriteFlow(ctx context.Context, f *Flow) (FlowResult, error) {
	return FlowResult{}, ErrClosed
}

// ReadFlow reads bytes of a datafile straight into Memory, as far as the datafile reaches. What
// lies beyond Moved is left as it was.
func (c *Caller) ReadFlow(ctx context.Context, f *Flow) (FlowResult, error) {
	return FlowResult{}, ErrClosed
}

package proto

import "errors"

// What a message may have wrong. The errors of Parse functions wrap one of these, and say in
// which operation, field and byte.
var (
	ErrVersion   = errors.New("protocol version does not fit")
	ErrEncoding  = errors.New("unknown encoding")
	ErrUnknownOp = errors.New("unknown operation")
	ErrMalformed = errors.New("malformed message")
)

// Header goes before the fields of a request.
type Header struct {
	Capability Capability
	Hints      Hints
}

// Request is the body of a request: a pointer to one of the ...Req types.
type Request interface {
	Op() Op
	String() string
	append(w *writer)
	parse(r *reader)
}

// Response is the body of a successful response: a pointer to one of the ...Resp types.
type Response interface {
	Op() Op
	String() string
	append(w *writer)
	parse(r *reader)
}

// AppendRequest appends a request, ready to be sent, to b. h may be nil for none.
func AppendRequest(b []byte, h *Header, req Request) []byte { return b }

// ParseRequest takes a request apart. What it returns shares no memory with b, except for
// the Data of a SmallIOReq. The error wraps ErrVersion, ErrEncoding, ErrUnknownOp or
// ErrMalformed.
func ParseRequest(b []byte) (*Header, Request, error) { return nil, nil, ErrMalformed }

// AppendResponse appends a successful response to b.
func AppendResponse(b []byte, resp Response) []byte { return b }

// AppendStatus appends a response that has no fields to b, 16 bytes: a failure, or a
// success of an operation with an empty response.
func AppendStatus(b []byte, op Op, s Status) []byte { return b }

// ParseResponse takes a response apart into into, whose operation it must be of. A status
// other than 0 is returned as that Status; into is then as it was. What it fills in shares no memory
// with b, except for the Data of a SmallIOResp.
func ParseResponse(b []byte, into Response) error { return ErrMalformed }

// ParseAnyResponse takes a response apart by the operation that is in it. The response is
// nil if the status is not 0.
func ParseAnyResponse(b []byte) (Response, Status, error) { return nil, 0, ErrMalformed }

// NewRequest is an empty request of an operation; nil if there is none.
func NewRequest(op Op) Request { return nil }

// NewResponse is an empty response of an operation; nil if there is none.
func NewResponse(op Op) Response { return nil }

// MaxRequest is the largest encoding of a request, in bytes, as stock programs count it.
// More than MaxUnexpected bytes cannot be sent as one.
func MaxRequest(op Op) int { return 0 }

// MaxResponse is the largest encoding of a response, in bytes: what its receive is posted
// with.
func MaxResponse(op Op) int { return 0 }

type (
	writer struct{}
	reader struct{}
)

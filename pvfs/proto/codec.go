package proto

import (
	"errors"
	"fmt"
	"sync"
)

// Errors of messages. The errors of Parse functions wrap one of these, and say in which operation, field and byte.
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

func (h Header) String() string {
	return fmt.Sprintf("capability=%v hints=%v", h.Capability, h.Hints)
}

// Request is the body of a request: a pointer to one of the ...Req types.
type Request interface {
	Op() Op
	String() string
	// Append is AppendRequest.
	Append(b []byte, h *Header) []byte
	// Parse is ParseRequest for a message of this operation. After an error, some fields of the body may be set.
	Parse(b []byte) (*Header, error)

	append(w *writer)
	parse(r *reader)
}

// Response is the body of a successful response: a pointer to one of the ...Resp types.
type Response interface {
	Op() Op
	String() string
	// Append is AppendResponse.
	Append(b []byte) []byte
	// Parse is ParseResponse.
	Parse(b []byte) error

	append(w *writer)
	parse(r *reader)
}

// Readers and writers are reused. They are used through interfaces, so each message would allocate one.
var (
	readers = sync.Pool{New: func() any { return new(reader) }}
	writers = sync.Pool{New: func() any { return new(writer) }}
)

func newWriter(b []byte) *writer {
	w := writers.Get().(*writer)
	w.b, w.base = b, len(b)
	return w
}

func (w *writer) finish() []byte {
	b := w.b
	w.b = nil
	writers.Put(w)
	return b
}

func newReader(b []byte) *reader {
	r := readers.Get().(*reader)
	*r = reader{b: b}
	return r
}

// finish checks that the message has been used up.
func (r *reader) finish() error {
	if n := r.left(); n > 0 {
		r.fail(ErrMalformed, "end", "%d bytes are left over", n)
	}
	err := r.err
	*r = reader{}
	readers.Put(r)
	return err
}

// AppendRequest appends a request, ready to be sent, to b. h may be nil for none.
func AppendRequest(b []byte, h *Header, req Request) []byte {
	w := newWriter(b)
	w.begin(req.Op())
	w.skip4()
	if h == nil {
		h = &noHeader
	}
	w.capability(&h.Capability)
	w.hints(h.Hints)
	req.append(w)
	return w.finish()
}

var noHeader Header

// begin writes the start of every message.
func (w *writer) begin(op Op) {
	w.u32(Version)
	w.u32(Encoding)
	w.i32(int32(op))
}

// begin parses the start of every message. Both versions must have the same major part (thousands). fits decides about the minor
// part of the other side's version.
func (r *reader) begin(fits func(minor uint32) bool) Op {
	version := r.u32("version")
	if r.err == nil && (version/1000 != Version/1000 || !fits(version%1000)) {
		r.off = 0
		r.fail(ErrVersion, "version", "%d, ours is %d", version, Version)
	}
	if encoding := r.u32("encoding"); r.err == nil && encoding != Encoding {
		r.off -= 4
		r.fail(ErrEncoding, "encoding", "%d, ours is %d", encoding, Encoding)
	}
	return Op(r.i32("operation"))
}

// A server accepts older clients, a client newer servers.
func notNewer(minor uint32) bool { return minor <= Version%1000 }
func notOlder(minor uint32) bool { return minor >= Version%1000 }

// ParseRequest parses a request. The result shares no memory with b, except for the Data of a SmallIOReq. The error wraps
// ErrVersion, ErrEncoding, ErrUnknownOp or ErrMalformed.
func ParseRequest(b []byte) (*Header, Request, error) {
	r := newReader(b)
	op := r.begin(notNewer)
	req := NewRequest(op)
	if req == nil && r.err == nil {
		r.off -= 4
		r.fail(ErrUnknownOp, "operation", "%d", int32(op))
	}
	if r.err != nil {
		return nil, nil, r.finish()
	}
	h := r.request(req)
	if err := r.finish(); err != nil {
		return nil, nil, err
	}
	return h, req, nil
}

// parseRequest is ParseRequest into a request of a known operation.
func parseRequest(b []byte, into Request) (*Header, error) {
	r := newReader(b)
	if op := r.begin(notNewer); r.err == nil && op != into.Op() {
		r.off -= 4
		r.fail(ErrMalformed, "operation", "%v, want %v", op, into.Op())
	}
	if r.err != nil {
		return nil, r.finish()
	}
	h := r.request(into)
	if err := r.finish(); err != nil {
		return nil, err
	}
	return h, nil
}

// request parses the part after the operation.
func (r *reader) request(into Request) *Header {
	r.op = into.Op()
	h := new(Header)
	r.skip4()
	r.capability(&h.Capability)
	h.Hints = r.hints()
	into.parse(r)
	return h
}

// AppendResponse appends a successful response to b.
func AppendResponse(b []byte, resp Response) []byte {
	w := newWriter(b)
	w.begin(resp.Op())
	w.status(OK)
	resp.append(w)
	return w.finish()
}

// AppendStatus appends a response without fields to b, 16 bytes: a failure, or a success of an operation with an empty response.
func AppendStatus(b []byte, op Op, s Status) []byte {
	w := newWriter(b)
	w.begin(op)
	w.status(s)
	return w.finish()
}

// ParseResponse parses a response of into's operation. A status other than 0 is returned as that Status, and into is unchanged.
// The same goes for the answer to a request that the server could not decode. After another error, some fields of into may be
// set. into shares no memory with b, except for the Data of a SmallIOResp.
func ParseResponse(b []byte, into Response) error {
	r := newReader(b)
	op := r.begin(notOlder)
	if r.err == nil && op != into.Op() && op != OpProtoError {
		r.off -= 4
		r.fail(ErrMalformed, "operation", "%v, want %v", op, into.Op())
	}
	s := r.responseStatus(op)
	switch {
	case s == OK && op != into.Op() && r.err == nil:
		r.fail(ErrMalformed, "status", "%v without an error", op)
	case s == OK && r.err == nil:
		into.parse(r)
	}
	if err := r.finish(); err != nil {
		return err
	}
	return s.Err()
}

// responseStatus parses the status. If it is not 0, nothing may follow it.
func (r *reader) responseStatus(op Op) Status {
	r.op = op
	return r.status("status")
}

// ParseAnyResponse parses a response of any operation. The response is nil if the status is not 0.
func ParseAnyResponse(b []byte) (Response, Status, error) {
	r := newReader(b)
	op := r.begin(notOlder)
	resp := NewResponse(op)
	if resp == nil && r.err == nil {
		r.off -= 4
		r.fail(ErrUnknownOp, "operation", "%d", int32(op))
	}
	s := r.responseStatus(op)
	switch {
	case r.err != nil || s != OK:
		resp = nil
	default:
		resp.parse(r)
	}
	if err := r.finish(); err != nil {
		return nil, 0, err
	}
	return resp, s, nil
}

// OpOf is the operation of a message, without a check of the rest; false if the message is too short.
func OpOf(b []byte) (Op, bool) {
	if len(b) < 12 {
		return 0, false
	}
	return Op(int32(uint32(b[8]) | uint32(b[9])<<8 | uint32(b[10])<<16 | uint32(b[11])<<24)), true
}

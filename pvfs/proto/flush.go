package proto

import "fmt"

// FlushReq syncs one object to disk.
type FlushReq struct {
	Handle Handle
	FS     FSID
	Flags  int32
}

// Op is OpFlush.
func (*FlushReq) Op() Op { return OpFlush }

func (q *FlushReq) String() string {
	return fmt.Sprintf("REQ FLUSH handle=%d fs=%d flags=%d",
		q.Handle, q.FS, q.Flags)
}

// Append is AppendRequest.
func (q *FlushReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *FlushReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *FlushReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	w.i32(q.Flags)
}

func (q *FlushReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	q.Flags = r.i32("flags")
}

// FlushResp is empty.
type FlushResp struct{}

// Op is OpFlush.
func (*FlushResp) Op() Op { return OpFlush }

func (*FlushResp) String() string { return "RESP FLUSH" }

// Append is AppendResponse.
func (p *FlushResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *FlushResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*FlushResp) append(*writer) {}

func (*FlushResp) parse(*reader) {}

package proto

import "fmt"

// TruncateReq sets the size of one datafile.
type TruncateReq struct {
	Handle Handle
	FS     FSID
	Size   int64
	Flags  int32
}

// Op is OpTruncate.
func (*TruncateReq) Op() Op { return OpTruncate }

func (q *TruncateReq) String() string {
	return fmt.Sprintf("REQ TRUNCATE handle=%d fs=%d size=%d flags=%d",
		q.Handle, q.FS, q.Size, q.Flags)
}

// Append is AppendRequest.
func (q *TruncateReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *TruncateReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *TruncateReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	w.skip4()
	w.i64(q.Size)
	w.i32(q.Flags)
}

func (q *TruncateReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	r.skip4()
	q.Size = r.i64("size")
	q.Flags = r.i32("flags")
}

// TruncateResp is empty.
type TruncateResp struct{}

// Op is OpTruncate.
func (*TruncateResp) Op() Op { return OpTruncate }

func (*TruncateResp) String() string { return "RESP TRUNCATE" }

// Append is AppendResponse.
func (p *TruncateResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *TruncateResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*TruncateResp) append(*writer) {}

func (*TruncateResp) parse(*reader) {}

package proto

import "fmt"

// BatchRemoveReq removes objects.
type BatchRemoveReq struct {
	FS      FSID
	Handles []Handle
}

// Op is OpBatchRemove.
func (*BatchRemoveReq) Op() Op { return OpBatchRemove }

func (q *BatchRemoveReq) String() string {
	return fmt.Sprintf("REQ BATCH_REMOVE fs=%d handles=%v",
		q.FS, shorten(q.Handles))
}

// Append is AppendRequest.
func (q *BatchRemoveReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *BatchRemoveReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *BatchRemoveReq) append(w *writer) {
	w.fs(q.FS)
	w.count(len(q.Handles))
	w.handles(q.Handles)
}

func (q *BatchRemoveReq) parse(r *reader) {
	q.FS = r.fs()
	q.Handles = r.handles("handles", r.count("handles", MaxHandles, 8))
}

// BatchRemoveResp is empty.
type BatchRemoveResp struct{}

// Op is OpBatchRemove.
func (*BatchRemoveResp) Op() Op { return OpBatchRemove }

func (*BatchRemoveResp) String() string { return "RESP BATCH_REMOVE" }

// Append is AppendResponse.
func (p *BatchRemoveResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *BatchRemoveResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*BatchRemoveResp) append(*writer) {}

func (*BatchRemoveResp) parse(*reader) {}

package proto

import "fmt"

// BatchCreateReq makes objects of one type. Servers fill their pools with it; a client
// makes one symbolic link.
type BatchCreateReq struct {
	FS      FSID
	Type    ObjType
	Count   uint32
	Extents []Extent
}

// Op is OpBatchCreate.
func (*BatchCreateReq) Op() Op { return OpBatchCreate }

func (q *BatchCreateReq) String() string {
	return fmt.Sprintf("REQ BATCH_CREATE fs=%d type=%v count=%d extents=%v",
		q.FS, q.Type, q.Count, shorten(q.Extents))
}

// Append is AppendRequest.
func (q *BatchCreateReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *BatchCreateReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *BatchCreateReq) append(w *writer) {
	w.fs(q.FS)
	w.objType(q.Type)
	w.u32(q.Count)
	w.skip4()
	w.extents(q.Extents)
}

func (q *BatchCreateReq) parse(r *reader) {
	q.FS = r.fs()
	q.Type = r.objType("type")
	q.Count = r.u32("count")
	r.skip4()
	q.Extents = r.extents()
}

// BatchCreateResp has the new objects.
type BatchCreateResp struct{ Handles []Handle }

// Op is OpBatchCreate.
func (*BatchCreateResp) Op() Op { return OpBatchCreate }

func (p *BatchCreateResp) String() string {
	return fmt.Sprintf("RESP BATCH_CREATE handles=%v",
		shorten(p.Handles))
}

// Append is AppendResponse.
func (p *BatchCreateResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *BatchCreateResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *BatchCreateResp) append(w *writer) {
	w.skip4()
	w.count(len(p.Handles))
	w.handles(p.Handles)
}

func (p *BatchCreateResp) parse(r *reader) {
	r.skip4()
	p.Handles = r.handles("handles", r.count("handles", maxBatch, 8))
}

// maxBatch bounds the objects of one BATCH_CREATE.
const maxBatch = 8192

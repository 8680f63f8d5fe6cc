package proto

import "fmt"

// IterateHandlesReq lists the handles of a server's objects. Position is TokenStart, or the one of the last response.
type IterateHandlesReq struct {
	FS       FSID
	Count    int32
	Flags    int32 // 1: reserved handles
	Position uint64
}

// Op is OpIterateHandles.
func (*IterateHandlesReq) Op() Op { return OpIterateHandles }

func (q *IterateHandlesReq) String() string {
	return fmt.Sprintf("REQ MGMT_ITERATE_HANDLES fs=%d count=%d flags=%d position=%d",
		q.FS, q.Count, q.Flags, q.Position)
}

// Append is AppendRequest.
func (q *IterateHandlesReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *IterateHandlesReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *IterateHandlesReq) append(w *writer) {
	w.fs(q.FS)
	w.i32(q.Count)
	w.i32(q.Flags)
	w.u64(q.Position)
}

func (q *IterateHandlesReq) parse(r *reader) {
	q.FS = r.fs()
	q.Count = r.i32("count")
	q.Flags = r.i32("flags")
	q.Position = r.u64("position")
}

// IterateHandlesResp has handles. The position TokenEnd means that there are no more.
type IterateHandlesResp struct {
	Position uint64
	Handles  []Handle
}

// Op is OpIterateHandles.
func (*IterateHandlesResp) Op() Op { return OpIterateHandles }

func (p *IterateHandlesResp) String() string {
	return fmt.Sprintf("RESP MGMT_ITERATE_HANDLES position=%d handles=%v",
		p.Position, shorten(p.Handles))
}

// Append is AppendResponse.
func (p *IterateHandlesResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *IterateHandlesResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *IterateHandlesResp) append(w *writer) {
	w.u64(p.Position)
	w.skip4()
	w.count(len(p.Handles))
	w.handles(p.Handles)
}

func (p *IterateHandlesResp) parse(r *reader) {
	p.Position = r.u64("position")
	r.skip4()
	p.Handles = r.handles("handles", r.count("handles", MaxHandles, 8))
}

package proto

import "fmt"

// TreeRemoveReq removes objects of several servers. The server that receives it asks the others.
type TreeRemoveReq struct {
	FS      FSID
	Cred    Credential
	Caller  uint32
	Handles []Handle
}

// Op is OpTreeRemove.
func (*TreeRemoveReq) Op() Op { return OpTreeRemove }

func (q *TreeRemoveReq) String() string {
	return fmt.Sprintf("REQ TREE_REMOVE fs=%d credential=%v caller=%d handles=%v",
		q.FS, q.Cred, q.Caller, shorten(q.Handles))
}

// Append is AppendRequest.
func (q *TreeRemoveReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *TreeRemoveReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *TreeRemoveReq) append(w *writer) {
	w.fs(q.FS)
	w.credential(&q.Cred)
	w.u32(q.Caller)
	w.count(len(q.Handles))
	w.handles(q.Handles)
}

func (q *TreeRemoveReq) parse(r *reader) {
	q.FS = r.fs()
	r.credential(&q.Cred)
	q.Caller = r.u32("caller")
	q.Handles = r.handles("handles", r.count("handles", MaxHandles, 8))
}

// TreeRemoveResp has the result for each object, in the order of the request.
type TreeRemoveResp struct {
	Caller uint32
	Status []Status
}

// Op is OpTreeRemove.
func (*TreeRemoveResp) Op() Op { return OpTreeRemove }

func (p *TreeRemoveResp) String() string {
	return fmt.Sprintf("RESP TREE_REMOVE caller=%d status=%v",
		p.Caller, names(p.Status))
}

// Append is AppendResponse.
func (p *TreeRemoveResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *TreeRemoveResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *TreeRemoveResp) append(w *writer) {
	w.skip4()
	w.u32(p.Caller)
	w.count(len(p.Status))
	w.statuses(p.Status)
}

func (p *TreeRemoveResp) parse(r *reader) {
	r.skip4()
	p.Caller = r.u32("caller")
	p.Status = r.statuses("statuses", r.count("statuses", MaxHandles, 4))
}

package proto

import "fmt"

// TreeSetAttrReq sets attributes of objects of several servers.
type TreeSetAttrReq struct {
	FS      FSID
	Cred    Credential
	Type    ObjType
	Attr    Attr
	Caller  uint32
	Handles []Handle
}

// Op is OpTreeSetAttr.
func (*TreeSetAttrReq) Op() Op { return OpTreeSetAttr }

func (q *TreeSetAttrReq) String() string {
	return fmt.Sprintf("REQ TREE_SETATTR fs=%d credential=%v type=%v attr=%v caller=%d handles=%v",
		q.FS, q.Cred, q.Type, q.Attr, q.Caller, shorten(q.Handles))
}

// Append is AppendRequest.
func (q *TreeSetAttrReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *TreeSetAttrReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *TreeSetAttrReq) append(w *writer) {
	w.fs(q.FS)
	w.credential(&q.Cred)
	w.objType(q.Type)
	w.attr(&q.Attr)
	w.u32(q.Caller)
	w.count(len(q.Handles))
	w.handles(q.Handles)
}

func (q *TreeSetAttrReq) parse(r *reader) {
	q.FS = r.fs()
	r.credential(&q.Cred)
	q.Type = r.objType("type")
	r.attr(&q.Attr)
	q.Caller = r.u32("caller")
	q.Handles = r.handles("handles", r.count("handles", MaxHandles, 8))
}

// TreeSetAttrResp has the result for each object, in the order of the request.
type TreeSetAttrResp struct {
	Caller uint32
	Status []Status
}

// Op is OpTreeSetAttr.
func (*TreeSetAttrResp) Op() Op { return OpTreeSetAttr }

func (p *TreeSetAttrResp) String() string {
	return fmt.Sprintf("RESP TREE_SETATTR caller=%d status=%v",
		p.Caller, names(p.Status))
}

// Append is AppendResponse.
func (p *TreeSetAttrResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *TreeSetAttrResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *TreeSetAttrResp) append(w *writer) {
	w.skip4()
	w.u32(p.Caller)
	w.count(len(p.Status))
	w.statuses(p.Status)
}

func (p *TreeSetAttrResp) parse(r *reader) {
	r.skip4()
	p.Caller = r.u32("caller")
	p.Status = r.statuses("statuses", r.count("statuses", MaxHandles, 4))
}

package proto

import "fmt"

// TreeGetAttrReq requests the attributes of objects of several servers.
type TreeGetAttrReq struct {
	FS      FSID
	Caller  uint32
	Retry   uint32
	Cred    Credential
	Mask    AttrMask
	Handles []Handle
}

// Op is OpTreeGetAttr.
func (*TreeGetAttrReq) Op() Op { return OpTreeGetAttr }

func (q *TreeGetAttrReq) String() string {
	return fmt.Sprintf("REQ TREE_GETATTR fs=%d caller=%d retry=%d credential=%v mask=%v handles=%v",
		q.FS, q.Caller, q.Retry, q.Cred, q.Mask, shorten(q.Handles))
}

// Append is AppendRequest.
func (q *TreeGetAttrReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *TreeGetAttrReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *TreeGetAttrReq) append(w *writer) {
	w.fs(q.FS)
	w.u32(q.Caller)
	w.u32(q.Retry)
	w.credential(&q.Cred)
	w.mask(q.Mask)
	w.count(len(q.Handles))
	w.handles(q.Handles)
}

func (q *TreeGetAttrReq) parse(r *reader) {
	q.FS = r.fs()
	q.Caller = r.u32("caller")
	q.Retry = r.u32("retry")
	r.credential(&q.Cred)
	q.Mask = r.mask()
	q.Handles = r.handles("handles", r.count("handles", MaxHandles, 8))
}

// TreeGetAttrResp has the attributes and the error of each object, in the order of the request.
type TreeGetAttrResp struct {
	Caller uint32
	Attrs  []Attr
	Errors []Status
}

// Op is OpTreeGetAttr.
func (*TreeGetAttrResp) Op() Op { return OpTreeGetAttr }

func (p *TreeGetAttrResp) String() string {
	return fmt.Sprintf("RESP TREE_GETATTR caller=%d attrs=%v errors=%v",
		p.Caller, shorten(p.Attrs), names(p.Errors))
}

// Append is AppendResponse.
func (p *TreeGetAttrResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *TreeGetAttrResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *TreeGetAttrResp) append(w *writer) {
	n := len(p.Attrs)
	w.u32(p.Caller)
	w.count(n)
	w.attrs(p.Attrs)
	w.statusesOf(p.Errors, n)
}

func (p *TreeGetAttrResp) parse(r *reader) {
	p.Caller = r.u32("caller")
	n := r.count("attributes", MaxHandles, minAttr+4)
	p.Attrs = r.attrs(n)
	p.Errors = r.statuses("errors", n)
}

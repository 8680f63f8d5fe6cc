package proto

import "fmt"

// ListAttrReq requests the attributes of up to MaxListAttr objects of one server. It has no credential.
type ListAttrReq struct {
	FS      FSID
	Mask    AttrMask
	Handles []Handle
}

// Op is OpListAttr.
func (*ListAttrReq) Op() Op { return OpListAttr }

func (q *ListAttrReq) String() string {
	return fmt.Sprintf("REQ LISTATTR fs=%d mask=%v handles=%v",
		q.FS, q.Mask, shorten(q.Handles))
}

// Append is AppendRequest.
func (q *ListAttrReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *ListAttrReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *ListAttrReq) append(w *writer) {
	w.fs(q.FS)
	w.mask(q.Mask)
	w.skip4()
	w.count(len(q.Handles))
	w.handles(q.Handles)
}

func (q *ListAttrReq) parse(r *reader) {
	q.FS = r.fs()
	q.Mask = r.mask()
	r.skip4()
	q.Handles = r.handles("handles", r.count("handles", MaxListAttr, 8))
}

// ListAttrResp has the status and the attributes of each object, in lists of equal length. The attributes of an object with an
// error are undefined.
type ListAttrResp struct {
	Status []Status
	Attrs  []Attr
}

// Op is OpListAttr.
func (*ListAttrResp) Op() Op { return OpListAttr }

func (p *ListAttrResp) String() string {
	return fmt.Sprintf("RESP LISTATTR status=%v attrs=%v",
		names(p.Status), p.Attrs)
}

// Append is AppendResponse.
func (p *ListAttrResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *ListAttrResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *ListAttrResp) append(w *writer) {
	n := len(p.Status)
	w.skip4()
	w.count(n)
	w.statuses(p.Status)
	w.attrsOf(p.Attrs, n)
}

func (p *ListAttrResp) parse(r *reader) {
	r.skip4()
	n := r.count("handles", MaxListAttr, 4+minAttr)
	p.Status = r.statuses("statuses", n)
	p.Attrs = r.attrs(n)
}

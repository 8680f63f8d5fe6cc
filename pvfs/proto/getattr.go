package proto

import "fmt"

// GetAttrReq requests the attributes in Mask that the object's type has.
type GetAttrReq struct {
	Handle Handle
	FS     FSID
	Mask   AttrMask
	Cred   Credential
}

// Op is OpGetAttr.
func (*GetAttrReq) Op() Op { return OpGetAttr }

func (q *GetAttrReq) String() string {
	return fmt.Sprintf("REQ GETATTR handle=%d fs=%d mask=%v credential=%v",
		q.Handle, q.FS, q.Mask, q.Cred)
}

// Append is AppendRequest.
func (q *GetAttrReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *GetAttrReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *GetAttrReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	w.mask(q.Mask)
	w.credential(&q.Cred)
}

func (q *GetAttrReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	q.Mask = r.mask()
	r.credential(&q.Cred)
}

// GetAttrResp has the attributes. Their Mask says which are present.
type GetAttrResp struct{ Attr Attr }

// Op is OpGetAttr.
func (*GetAttrResp) Op() Op { return OpGetAttr }

func (p *GetAttrResp) String() string {
	return fmt.Sprintf("RESP GETATTR attr=%v",
		p.Attr)
}

// Append is AppendResponse.
func (p *GetAttrResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *GetAttrResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *GetAttrResp) append(w *writer) {
	w.attr(&p.Attr)
}

func (p *GetAttrResp) parse(r *reader) {
	r.attr(&p.Attr)
}

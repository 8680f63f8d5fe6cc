package proto

import "fmt"

// SetAttrReq sets the attributes in Attr.Mask. For times without AttrATimeSet and AttrMTimeSet, the server uses its own clock.
type SetAttrReq struct {
	Handle Handle
	FS     FSID
	Attr   Attr
	Cred   Credential
}

// Op is OpSetAttr.
func (*SetAttrReq) Op() Op { return OpSetAttr }

func (q *SetAttrReq) String() string {
	return fmt.Sprintf("REQ SETATTR handle=%d fs=%d attr=%v credential=%v",
		q.Handle, q.FS, q.Attr, q.Cred)
}

// Append is AppendRequest.
func (q *SetAttrReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *SetAttrReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *SetAttrReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	w.skip4()
	w.attr(&q.Attr)
	w.credential(&q.Cred)
}

func (q *SetAttrReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	r.skip4()
	r.attr(&q.Attr)
	r.credential(&q.Cred)
}

// SetAttrResp is empty.
type SetAttrResp struct{}

// Op is OpSetAttr.
func (*SetAttrResp) Op() Op { return OpSetAttr }

func (*SetAttrResp) String() string { return "RESP SETATTR" }

// Append is AppendResponse.
func (p *SetAttrResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *SetAttrResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*SetAttrResp) append(*writer) {}

func (*SetAttrResp) parse(*reader) {}

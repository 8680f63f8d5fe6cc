package proto

import "fmt"

// UnstuffReq gives a stuffed file all its datafiles.
type UnstuffReq struct {
	Handle Handle
	FS     FSID
	Mask   AttrMask
	Cred   Credential
}

// Op is OpUnstuff.
func (*UnstuffReq) Op() Op { return OpUnstuff }

func (q *UnstuffReq) String() string {
	return fmt.Sprintf("REQ UNSTUFF handle=%d fs=%d mask=%v credential=%v",
		q.Handle, q.FS, q.Mask, q.Cred)
}

// Append is AppendRequest.
func (q *UnstuffReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *UnstuffReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *UnstuffReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	w.mask(q.Mask)
	w.credential(&q.Cred)
}

func (q *UnstuffReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	q.Mask = r.mask()
	r.credential(&q.Cred)
}

// UnstuffResp has the file's new attributes.
type UnstuffResp struct{ Attr Attr }

// Op is OpUnstuff.
func (*UnstuffResp) Op() Op { return OpUnstuff }

func (p *UnstuffResp) String() string {
	return fmt.Sprintf("RESP UNSTUFF attr=%v",
		p.Attr)
}

// Append is AppendResponse.
func (p *UnstuffResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *UnstuffResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *UnstuffResp) append(w *writer) {
	w.attr(&p.Attr)
}

func (p *UnstuffResp) parse(r *reader) {
	r.attr(&p.Attr)
}

package proto

import "fmt"

// CreateReq makes a file that is in no directory yet. Its owner is the user of the credential.
type CreateReq struct {
	FS        FSID
	Cred      Credential
	Attr      Attr
	Datafiles int32 // wanted
	Layout    Layout
}

// Op is OpCreate.
func (*CreateReq) Op() Op { return OpCreate }

func (q *CreateReq) String() string {
	return fmt.Sprintf("REQ CREATE fs=%d credential=%v attr=%v datafiles=%d layout=%v",
		q.FS, q.Cred, q.Attr, q.Datafiles, q.Layout)
}

// Append is AppendRequest.
func (q *CreateReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *CreateReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *CreateReq) append(w *writer) {
	w.fs(q.FS)
	w.skip4()
	w.credential(&q.Cred)
	w.attr(&q.Attr)
	w.i32(q.Datafiles)
	w.layout(&q.Layout)
}

func (q *CreateReq) parse(r *reader) {
	q.FS = r.fs()
	r.skip4()
	r.credential(&q.Cred)
	r.attr(&q.Attr)
	q.Datafiles = r.i32("datafiles")
	r.layout(&q.Layout)
}

// CreateResp has the new file. A stuffed file has one datafile, on its own server, until UNSTUFF.
type CreateResp struct {
	Handle  Handle
	Stuffed bool
	Attr    Attr
}

// Op is OpCreate.
func (*CreateResp) Op() Op { return OpCreate }

func (p *CreateResp) String() string {
	return fmt.Sprintf("RESP CREATE handle=%d stuffed=%v attr=%v",
		p.Handle, p.Stuffed, p.Attr)
}

// Append is AppendResponse.
func (p *CreateResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *CreateResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *CreateResp) append(w *writer) {
	w.handle(p.Handle)
	w.u32(flag(p.Stuffed))
	w.attr(&p.Attr)
}

func (p *CreateResp) parse(r *reader) {
	p.Handle = r.handle("handle")
	p.Stuffed = r.u32("stuffed") != 0
	r.attr(&p.Attr)
}

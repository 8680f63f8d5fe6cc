package proto

import "fmt"

// RemoveReq removes an object that is in no directory any more. HintHandle names its last directory.
type RemoveReq struct {
	Handle Handle
	FS     FSID
	Cred   Credential
}

// Op is OpRemove.
func (*RemoveReq) Op() Op { return OpRemove }

func (q *RemoveReq) String() string {
	return fmt.Sprintf("REQ REMOVE handle=%d fs=%d credential=%v",
		q.Handle, q.FS, q.Cred)
}

// Append is AppendRequest.
func (q *RemoveReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *RemoveReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *RemoveReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	w.credential(&q.Cred)
}

func (q *RemoveReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	r.credential(&q.Cred)
}

// RemoveResp is empty.
type RemoveResp struct{}

// Op is OpRemove.
func (*RemoveResp) Op() Op { return OpRemove }

func (*RemoveResp) String() string { return "RESP REMOVE" }

// Append is AppendResponse.
func (p *RemoveResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *RemoveResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*RemoveResp) append(*writer) {}

func (*RemoveResp) parse(*reader) {}

package proto

import "fmt"

// RemoveObjectReq removes an object, even if something still refers to it.
type RemoveObjectReq struct {
	Handle Handle
	FS     FSID
}

// Op is OpRemoveObject.
func (*RemoveObjectReq) Op() Op { return OpRemoveObject }

func (q *RemoveObjectReq) String() string {
	return fmt.Sprintf("REQ MGMT_REMOVE_OBJECT handle=%d fs=%d",
		q.Handle, q.FS)
}

// Append is AppendRequest.
func (q *RemoveObjectReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *RemoveObjectReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *RemoveObjectReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
}

func (q *RemoveObjectReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
}

// RemoveObjectResp is empty.
type RemoveObjectResp struct{}

// Op is OpRemoveObject.
func (*RemoveObjectResp) Op() Op { return OpRemoveObject }

func (*RemoveObjectResp) String() string { return "RESP MGMT_REMOVE_OBJECT" }

// Append is AppendResponse.
func (p *RemoveObjectResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *RemoveObjectResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*RemoveObjectResp) append(*writer) {}

func (*RemoveObjectResp) parse(*reader) {}

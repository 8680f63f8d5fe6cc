package proto

import "fmt"

// DelEattrReq removes an extended attribute.
type DelEattrReq struct {
	Handle Handle
	FS     FSID
	Key    string
}

// Op is OpDelEattr.
func (*DelEattrReq) Op() Op { return OpDelEattr }

func (q *DelEattrReq) String() string {
	return fmt.Sprintf("REQ DELEATTR handle=%d fs=%d key=%q",
		q.Handle, q.FS, q.Key)
}

// Append is AppendRequest.
func (q *DelEattrReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *DelEattrReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *DelEattrReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	w.key(q.Key)
}

func (q *DelEattrReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	q.Key = r.key("attribute name")
}

// DelEattrResp is empty.
type DelEattrResp struct{}

// Op is OpDelEattr.
func (*DelEattrResp) Op() Op { return OpDelEattr }

func (*DelEattrResp) String() string { return "RESP DELEATTR" }

// Append is AppendResponse.
func (p *DelEattrResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *DelEattrResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*DelEattrResp) append(*writer) {}

func (*DelEattrResp) parse(*reader) {}

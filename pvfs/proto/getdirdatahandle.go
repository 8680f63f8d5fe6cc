package proto

import "fmt"

// GetDirdataHandleReq requests the dirdata object of a directory.
type GetDirdataHandleReq struct {
	Handle Handle
	FS     FSID
}

// Op is OpGetDirdataHandle.
func (*GetDirdataHandleReq) Op() Op { return OpGetDirdataHandle }

func (q *GetDirdataHandleReq) String() string {
	return fmt.Sprintf("REQ MGMT_GET_DIRDATA_HANDLE handle=%d fs=%d",
		q.Handle, q.FS)
}

// Append is AppendRequest.
func (q *GetDirdataHandleReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *GetDirdataHandleReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *GetDirdataHandleReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
}

func (q *GetDirdataHandleReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
}

// GetDirdataHandleResp has the dirdata object.
type GetDirdataHandleResp struct{ Handle Handle }

// Op is OpGetDirdataHandle.
func (*GetDirdataHandleResp) Op() Op { return OpGetDirdataHandle }

func (p *GetDirdataHandleResp) String() string {
	return fmt.Sprintf("RESP MGMT_GET_DIRDATA_HANDLE handle=%d",
		p.Handle)
}

// Append is AppendResponse.
func (p *GetDirdataHandleResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *GetDirdataHandleResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *GetDirdataHandleResp) append(w *writer) {
	w.handle(p.Handle)
}

func (p *GetDirdataHandleResp) parse(r *reader) {
	p.Handle = r.handle("handle")
}

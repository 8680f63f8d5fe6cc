package proto

import "fmt"

// CreateRootDirReq makes the root directory. A server sends it only to itself.
type CreateRootDirReq struct {
	Handle Handle
	FS     FSID
}

// Op is OpCreateRootDir.
func (*CreateRootDirReq) Op() Op { return OpCreateRootDir }

func (q *CreateRootDirReq) String() string {
	return fmt.Sprintf("REQ MGMT_CREATE_ROOT_DIR handle=%d fs=%d",
		q.Handle, q.FS)
}

// Append is AppendRequest.
func (q *CreateRootDirReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *CreateRootDirReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *CreateRootDirReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
}

func (q *CreateRootDirReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
}

// CreateRootDirResp is empty.
type CreateRootDirResp struct{}

// Op is OpCreateRootDir.
func (*CreateRootDirResp) Op() Op { return OpCreateRootDir }

func (*CreateRootDirResp) String() string { return "RESP MGMT_CREATE_ROOT_DIR" }

// Append is AppendResponse.
func (p *CreateRootDirResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *CreateRootDirResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*CreateRootDirResp) append(*writer) {}

func (*CreateRootDirResp) parse(*reader) {}

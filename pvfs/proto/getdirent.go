package proto

import "fmt"

// GetDirentReq requests the object of a name. Servers send it to each other when they look up paths.
type GetDirentReq struct {
	Dirdata Handle
	FS      FSID
	Name    string
}

// Op is OpGetDirent.
func (*GetDirentReq) Op() Op { return OpGetDirent }

func (q *GetDirentReq) String() string {
	return fmt.Sprintf("REQ MGMT_GET_DIRENT dirdata=%d fs=%d name=%q",
		q.Dirdata, q.FS, q.Name)
}

// Append is AppendRequest.
func (q *GetDirentReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *GetDirentReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *GetDirentReq) append(w *writer) {
	w.handle(q.Dirdata)
	w.fs(q.FS)
	w.str(q.Name)
}

func (q *GetDirentReq) parse(r *reader) {
	q.Dirdata = r.handle("dirdata")
	q.FS = r.fs()
	q.Name = r.str("name", MaxPath)
}

// GetDirentResp has the object, or an error.
type GetDirentResp struct {
	Handle Handle
	Error  Status
}

// Op is OpGetDirent.
func (*GetDirentResp) Op() Op { return OpGetDirent }

func (p *GetDirentResp) String() string {
	return fmt.Sprintf("RESP MGMT_GET_DIRENT handle=%d error=%s",
		p.Handle, p.Error.Name())
}

// Append is AppendResponse.
func (p *GetDirentResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *GetDirentResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *GetDirentResp) append(w *writer) {
	w.handle(p.Handle)
	w.status(p.Error)
}

func (p *GetDirentResp) parse(r *reader) {
	p.Handle = r.handle("handle")
	p.Error = r.status("error")
}

package proto

import "fmt"

// RmDirentReq removes a name from a directory.
type RmDirentReq struct {
	Name    string
	Dirdata Handle
	FS      FSID
}

// Op is OpRmDirent.
func (*RmDirentReq) Op() Op { return OpRmDirent }

func (q *RmDirentReq) String() string {
	return fmt.Sprintf("REQ RMDIRENT name=%q dirdata=%d fs=%d",
		q.Name, q.Dirdata, q.FS)
}

// Append is AppendRequest.
func (q *RmDirentReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *RmDirentReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *RmDirentReq) append(w *writer) {
	w.str(q.Name)
	w.handle(q.Dirdata)
	w.fs(q.FS)
}

func (q *RmDirentReq) parse(r *reader) {
	q.Name = r.str("name", MaxPath)
	q.Dirdata = r.handle("dirdata")
	q.FS = r.fs()
}

// RmDirentResp has the object of the name.
type RmDirentResp struct{ Handle Handle }

// Op is OpRmDirent.
func (*RmDirentResp) Op() Op { return OpRmDirent }

func (p *RmDirentResp) String() string {
	return fmt.Sprintf("RESP RMDIRENT handle=%d",
		p.Handle)
}

// Append is AppendResponse.
func (p *RmDirentResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *RmDirentResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *RmDirentResp) append(w *writer) {
	w.handle(p.Handle)
}

func (p *RmDirentResp) parse(r *reader) {
	p.Handle = r.handle("handle")
}

package proto

import "fmt"

// ChDirentReq makes an existing name refer to another object.
type ChDirentReq struct {
	Name    string
	New     Handle
	Dirdata Handle
	FS      FSID
}

// Op is OpChDirent.
func (*ChDirentReq) Op() Op { return OpChDirent }

func (q *ChDirentReq) String() string {
	return fmt.Sprintf("REQ CHDIRENT name=%q new=%d dirdata=%d fs=%d",
		q.Name, q.New, q.Dirdata, q.FS)
}

// Append is AppendRequest.
func (q *ChDirentReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *ChDirentReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *ChDirentReq) append(w *writer) {
	w.str(q.Name)
	w.handle(q.New)
	w.handle(q.Dirdata)
	w.fs(q.FS)
}

func (q *ChDirentReq) parse(r *reader) {
	q.Name = r.str("name", MaxPath)
	q.New = r.handle("new")
	q.Dirdata = r.handle("dirdata")
	q.FS = r.fs()
}

// ChDirentResp has the previous object of the name.
type ChDirentResp struct{ Old Handle }

// Op is OpChDirent.
func (*ChDirentResp) Op() Op { return OpChDirent }

func (p *ChDirentResp) String() string {
	return fmt.Sprintf("RESP CHDIRENT old=%d",
		p.Old)
}

// Append is AppendResponse.
func (p *ChDirentResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *ChDirentResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *ChDirentResp) append(w *writer) {
	w.handle(p.Old)
}

func (p *ChDirentResp) parse(r *reader) {
	p.Old = r.handle("old")
}

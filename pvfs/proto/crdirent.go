package proto

import "fmt"

// CrDirentReq adds a name to a directory.
type CrDirentReq struct {
	Cred    Credential
	Name    string
	New     Handle
	Dir     Handle
	Dirdata Handle
	FS      FSID
}

// Op is OpCrDirent.
func (*CrDirentReq) Op() Op { return OpCrDirent }

func (q *CrDirentReq) String() string {
	return fmt.Sprintf("REQ CRDIRENT credential=%v name=%q new=%d dir=%d dirdata=%d fs=%d",
		q.Cred, q.Name, q.New, q.Dir, q.Dirdata, q.FS)
}

// Append is AppendRequest.
func (q *CrDirentReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *CrDirentReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *CrDirentReq) append(w *writer) {
	w.credential(&q.Cred)
	w.str(q.Name)
	w.handle(q.New)
	w.handle(q.Dir)
	w.handle(q.Dirdata)
	w.fs(q.FS)
}

func (q *CrDirentReq) parse(r *reader) {
	r.credential(&q.Cred)
	q.Name = r.str("name", MaxPath)
	q.New = r.handle("new")
	q.Dir = r.handle("dir")
	q.Dirdata = r.handle("dirdata")
	q.FS = r.fs()
}

// CrDirentResp is empty.
type CrDirentResp struct{}

// Op is OpCrDirent.
func (*CrDirentResp) Op() Op { return OpCrDirent }

func (*CrDirentResp) String() string { return "RESP CRDIRENT" }

// Append is AppendResponse.
func (p *CrDirentResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *CrDirentResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*CrDirentResp) append(*writer) {}

func (*CrDirentResp) parse(*reader) {}

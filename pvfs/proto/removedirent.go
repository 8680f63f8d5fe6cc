package proto

import "fmt"

// RemoveDirentReq removes a name. The object to which it refers does not matter.
type RemoveDirentReq struct {
	Dirdata Handle
	FS      FSID
	Name    string
}

// Op is OpRemoveDirent.
func (*RemoveDirentReq) Op() Op { return OpRemoveDirent }

func (q *RemoveDirentReq) String() string {
	return fmt.Sprintf("REQ MGMT_REMOVE_DIRENT dirdata=%d fs=%d name=%q",
		q.Dirdata, q.FS, q.Name)
}

// Append is AppendRequest.
func (q *RemoveDirentReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *RemoveDirentReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *RemoveDirentReq) append(w *writer) {
	w.handle(q.Dirdata)
	w.fs(q.FS)
	w.skip4()
	w.str(q.Name)
}

func (q *RemoveDirentReq) parse(r *reader) {
	q.Dirdata = r.handle("dirdata")
	q.FS = r.fs()
	r.skip4()
	q.Name = r.str("name", MaxPath)
}

// RemoveDirentResp is empty.
type RemoveDirentResp struct{}

// Op is OpRemoveDirent.
func (*RemoveDirentResp) Op() Op { return OpRemoveDirent }

func (*RemoveDirentResp) String() string { return "RESP MGMT_REMOVE_DIRENT" }

// Append is AppendResponse.
func (p *RemoveDirentResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *RemoveDirentResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*RemoveDirentResp) append(*writer) {}

func (*RemoveDirentResp) parse(*reader) {}

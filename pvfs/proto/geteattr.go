package proto

import "fmt"

// GetEattrReq requests values of extended attributes. There is a size for each key.
type GetEattrReq struct {
	Handle Handle
	FS     FSID
	Keys   []string // without the final zero, which counts on the wire
	Sizes  []int64  // room for each value
}

// Op is OpGetEattr.
func (*GetEattrReq) Op() Op { return OpGetEattr }

func (q *GetEattrReq) String() string {
	return fmt.Sprintf("REQ GETEATTR handle=%d fs=%d keys=%q sizes=%v",
		q.Handle, q.FS, q.Keys, q.Sizes)
}

// Append is AppendRequest.
func (q *GetEattrReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *GetEattrReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *GetEattrReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	n := len(q.Keys)
	w.count(n)
	w.keys(q.Keys)
	w.i64sOf(q.Sizes, n)
}

func (q *GetEattrReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	n := r.count("attributes", MaxXattrs, 16)
	q.Keys = r.keys(n)
	q.Sizes = r.i64s("sizes", n)
}

// GetEattrResp has a value or an error for each key.
type GetEattrResp struct {
	Values [][]byte
	Errors []Status
}

// Op is OpGetEattr.
func (*GetEattrResp) Op() Op { return OpGetEattr }

func (p *GetEattrResp) String() string {
	return fmt.Sprintf("RESP GETEATTR values=%v errors=%v",
		lengths(p.Values), names(p.Errors))
}

// Append is AppendResponse.
func (p *GetEattrResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *GetEattrResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *GetEattrResp) append(w *writer) {
	n := len(p.Values)
	w.skip4()
	w.count(n)
	w.buffers(p.Values)
	w.statusesOf(p.Errors, n)
}

func (p *GetEattrResp) parse(r *reader) {
	r.skip4()
	n := r.count("attributes", MaxXattrs, 12)
	p.Values = r.buffers("values", n)
	p.Errors = r.statuses("errors", n)
}

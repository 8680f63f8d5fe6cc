package proto

import "fmt"

// ListEattrReq lists as many names of extended attributes as there are sizes. Token is TokenStart, or the one of the last
// response.
type ListEattrReq struct {
	Handle Handle
	FS     FSID
	Token  uint64
	Sizes  []int64 // room for each key
}

// Op is OpListEattr.
func (*ListEattrReq) Op() Op { return OpListEattr }

func (q *ListEattrReq) String() string {
	return fmt.Sprintf("REQ LISTEATTR handle=%d fs=%d token=%d sizes=%v",
		q.Handle, q.FS, q.Token, q.Sizes)
}

// Append is AppendRequest.
func (q *ListEattrReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *ListEattrReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *ListEattrReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	w.skip4()
	w.u64(q.Token)
	w.count(len(q.Sizes))
	w.i64s(q.Sizes)
}

func (q *ListEattrReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	r.skip4()
	q.Token = r.u64("token")
	q.Sizes = r.i64s("sizes", r.count("sizes", MaxXattrs, 8))
}

// ListEattrResp has names. TokenEnd means that there are no more.
type ListEattrResp struct {
	Token uint64
	Keys  []string
}

// Op is OpListEattr.
func (*ListEattrResp) Op() Op { return OpListEattr }

func (p *ListEattrResp) String() string {
	return fmt.Sprintf("RESP LISTEATTR token=%d keys=%q",
		p.Token, p.Keys)
}

// Append is AppendResponse.
func (p *ListEattrResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *ListEattrResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *ListEattrResp) append(w *writer) {
	w.u64(p.Token)
	w.skip4()
	w.count(len(p.Keys))
	w.keys(p.Keys)
}

func (p *ListEattrResp) parse(r *reader) {
	p.Token = r.u64("token")
	r.skip4()
	p.Keys = r.keys(r.count("attributes", MaxXattrs, 8))
}

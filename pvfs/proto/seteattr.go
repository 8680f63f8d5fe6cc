package proto

import "fmt"

// SetEattrReq sets extended attributes. There is a value for each key.
type SetEattrReq struct {
	Handle Handle
	FS     FSID
	Flags  int32 // 1: must not exist, 2: must exist
	Keys   []string
	Values [][]byte
}

// Op is OpSetEattr.
func (*SetEattrReq) Op() Op { return OpSetEattr }

func (q *SetEattrReq) String() string {
	return fmt.Sprintf("REQ SETEATTR handle=%d fs=%d flags=%d keys=%q values=%v",
		q.Handle, q.FS, q.Flags, q.Keys, lengths(q.Values))
}

// Append is AppendRequest.
func (q *SetEattrReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *SetEattrReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *SetEattrReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	w.i32(q.Flags)
	w.skip4()
	n := len(q.Keys)
	w.count(n)
	w.keys(q.Keys)
	w.buffersOf(q.Values, n)
}

func (q *SetEattrReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	q.Flags = r.i32("flags")
	r.skip4()
	n := r.count("attributes", MaxXattrs, 16)
	q.Keys = r.keys(n)
	q.Values = r.buffers("values", n)
}

// SetEattrResp is empty.
type SetEattrResp struct{}

// Op is OpSetEattr.
func (*SetEattrResp) Op() Op { return OpSetEattr }

func (*SetEattrResp) String() string { return "RESP SETEATTR" }

// Append is AppendResponse.
func (p *SetEattrResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *SetEattrResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*SetEattrResp) append(*writer) {}

func (*SetEattrResp) parse(*reader) {}

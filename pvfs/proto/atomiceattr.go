package proto

import "fmt"

// AtomicEattrReq changes extended attributes and returns their previous values. There is a value and a size for each key.
type AtomicEattrReq struct {
	Handle Handle
	FS     FSID
	Flags  int32
	Opcode int32
	Keys   []string
	Values [][]byte
	Sizes  []int64
}

// Op is OpAtomicEattr.
func (*AtomicEattrReq) Op() Op { return OpAtomicEattr }

func (q *AtomicEattrReq) String() string {
	return fmt.Sprintf("REQ ATOMICEATTR handle=%d fs=%d flags=%d opcode=%d keys=%q values=%v sizes=%v",
		q.Handle, q.FS, q.Flags, q.Opcode, q.Keys, lengths(q.Values), q.Sizes)
}

// Append is AppendRequest.
func (q *AtomicEattrReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *AtomicEattrReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *AtomicEattrReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	w.i32(q.Flags)
	w.i32(q.Opcode)
	n := len(q.Keys)
	w.count(n)
	w.keys(q.Keys)
	w.buffersOf(q.Values, n)
	w.i64sOf(q.Sizes, n)
}

func (q *AtomicEattrReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	q.Flags = r.i32("flags")
	q.Opcode = r.i32("opcode")
	n := r.count("attributes", MaxXattrs, 24)
	q.Keys = r.keys(n)
	q.Values = r.buffers("values", n)
	q.Sizes = r.i64s("sizes", n)
}

// AtomicEattrResp has a value or an error for each key.
type AtomicEattrResp struct {
	Values [][]byte
	Errors []Status
}

// Op is OpAtomicEattr.
func (*AtomicEattrResp) Op() Op { return OpAtomicEattr }

func (p *AtomicEattrResp) String() string {
	return fmt.Sprintf("RESP ATOMICEATTR values=%v errors=%v",
		lengths(p.Values), names(p.Errors))
}

// Append is AppendResponse.
func (p *AtomicEattrResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *AtomicEattrResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *AtomicEattrResp) append(w *writer) {
	n := len(p.Values)
	w.skip4()
	w.count(n)
	w.buffers(p.Values)
	w.statusesOf(p.Errors, n)
}

func (p *AtomicEattrResp) parse(r *reader) {
	r.skip4()
	n := r.count("attributes", MaxXattrs, 12)
	p.Values = r.buffers("values", n)
	p.Errors = r.statuses("errors", n)
}

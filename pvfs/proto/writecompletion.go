package proto

import "fmt"

// WriteCompletionResp ends a write. It is sent after the bytes of an IO have arrived.
type WriteCompletionResp struct{ Written int64 }

// Op is OpWriteCompletion.
func (*WriteCompletionResp) Op() Op { return OpWriteCompletion }

func (p *WriteCompletionResp) String() string {
	return fmt.Sprintf("RESP WRITE_COMPLETION written=%d",
		p.Written)
}

// Append is AppendResponse.
func (p *WriteCompletionResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *WriteCompletionResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *WriteCompletionResp) append(w *writer) {
	w.i64(p.Written)
}

func (p *WriteCompletionResp) parse(r *reader) {
	p.Written = r.i64("written")
}

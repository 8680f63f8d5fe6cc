package proto

import "fmt"

// TreeGetFileSizeReq requests the sizes of datafiles of several servers.
type TreeGetFileSizeReq struct {
	FS      FSID
	Caller  uint32
	Retry   uint32
	Cred    Credential
	Handles []Handle
}

// Op is OpTreeGetFileSize.
func (*TreeGetFileSizeReq) Op() Op { return OpTreeGetFileSize }

func (q *TreeGetFileSizeReq) String() string {
	return fmt.Sprintf("REQ TREE_GET_FILE_SIZE fs=%d caller=%d retry=%d credential=%v handles=%v",
		q.FS, q.Caller, q.Retry, q.Cred, shorten(q.Handles))
}

// Append is AppendRequest.
func (q *TreeGetFileSizeReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *TreeGetFileSizeReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *TreeGetFileSizeReq) append(w *writer) {
	w.fs(q.FS)
	w.u32(q.Caller)
	w.u32(q.Retry)
	w.credential(&q.Cred)
	w.count(len(q.Handles))
	w.handles(q.Handles)
}

func (q *TreeGetFileSizeReq) parse(r *reader) {
	q.FS = r.fs()
	q.Caller = r.u32("caller")
	q.Retry = r.u32("retry")
	r.credential(&q.Cred)
	q.Handles = r.handles("handles", r.count("handles", MaxHandles, 8))
}

// TreeGetFileSizeResp has the size or the error of each datafile, in the order of the request.
type TreeGetFileSizeResp struct {
	Caller uint32
	Sizes  []int64
	Errors []Status
}

// Op is OpTreeGetFileSize.
func (*TreeGetFileSizeResp) Op() Op { return OpTreeGetFileSize }

func (p *TreeGetFileSizeResp) String() string {
	return fmt.Sprintf("RESP TREE_GET_FILE_SIZE caller=%d sizes=%v errors=%v",
		p.Caller, shorten(p.Sizes), names(p.Errors))
}

// Append is AppendResponse.
func (p *TreeGetFileSizeResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *TreeGetFileSizeResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *TreeGetFileSizeResp) append(w *writer) {
	n := len(p.Sizes)
	w.u32(p.Caller)
	w.count(n)
	w.i64s(p.Sizes)
	w.statusesOf(p.Errors, n)
}

func (p *TreeGetFileSizeResp) parse(r *reader) {
	p.Caller = r.u32("caller")
	n := r.count("sizes", MaxHandles, 12)
	p.Sizes = r.i64s("sizes", n)
	p.Errors = r.statuses("errors", n)
}

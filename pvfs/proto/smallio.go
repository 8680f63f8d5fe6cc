package proto

import "fmt"

// SmallIOReq moves the bytes of one datafile that belong to a range of a file. They are inside the request or the response.
type SmallIOReq struct {
	Handle     Handle
	FS         FSID
	Type       IOType
	ServerNr   uint32
	ServerCt   uint32
	Dist       Dist
	Request    FileRequest
	FileOffset int64
	Aggregate  int64
	Total      int64  // bytes to write to this datafile; 0 for a read
	Data       []byte // of a write; a view of the message after parsing
}

// Op is OpSmallIO.
func (*SmallIOReq) Op() Op { return OpSmallIO }

func (q *SmallIOReq) String() string {
	return fmt.Sprintf("REQ SMALL_IO handle=%d fs=%d type=%v server_nr=%d server_ct=%d dist=%v request=%v "+
		"offset=%d aggregate=%d total=%d data=%d bytes",
		q.Handle, q.FS, q.Type, q.ServerNr, q.ServerCt, q.Dist, q.Request, q.FileOffset, q.Aggregate, q.Total, len(q.Data))
}

// Append is AppendRequest.
func (q *SmallIOReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *SmallIOReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *SmallIOReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	w.i32(int32(q.Type))
	w.u32(q.ServerNr)
	w.u32(q.ServerCt)
	w.dist(&q.Dist)
	w.fileRequest(q.Request)
	w.i64(q.FileOffset)
	w.i64(q.Aggregate)
	if q.Type != IOWrite {
		w.i64(q.Total)
		w.skip4()
		return
	}
	w.i64(int64(len(q.Data)))
	w.skip4()
	w.bytes(q.Data)
}

func (q *SmallIOReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	q.Type = IOType(r.i32("type"))
	q.ServerNr = r.u32("server nr")
	q.ServerCt = r.u32("server ct")
	r.dist(&q.Dist)
	q.Request = r.fileRequest()
	q.FileOffset = r.i64("offset")
	q.Aggregate = r.i64("aggregate")
	at := r.off
	q.Total = r.i64("total")
	r.skip4()
	q.Data = nil
	if q.Type != IOWrite {
		return
	}
	q.Data = r.rest()
	if q.Total != int64(len(q.Data)) {
		r.off = at
		r.fail(ErrMalformed, "total", "%d, but %d bytes follow", q.Total, len(q.Data))
	}
}

// SmallIOResp is the result.
type SmallIOResp struct {
	Type   IOType
	Size   int64  // of the datafile: before a write, now for a read
	Result int64  // bytes moved
	Data   []byte // of a read; a view of the message after parsing
}

// Op is OpSmallIO.
func (*SmallIOResp) Op() Op { return OpSmallIO }

func (p *SmallIOResp) String() string {
	return fmt.Sprintf("RESP SMALL_IO type=%v size=%d result=%d data=%d bytes",
		p.Type, p.Size, p.Result, len(p.Data))
}

// Append is AppendResponse.
func (p *SmallIOResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *SmallIOResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *SmallIOResp) append(w *writer) {
	w.i32(int32(p.Type))
	w.skip4()
	w.i64(p.Size)
	if p.Type != IORead {
		w.i64(p.Result)
		return
	}
	w.i64(int64(len(p.Data)))
	w.bytes(p.Data)
}

func (p *SmallIOResp) parse(r *reader) {
	p.Type = IOType(r.i32("type"))
	r.skip4()
	p.Size = r.i64("size")
	at := r.off
	p.Result = r.i64("result")
	p.Data = nil
	if p.Type != IORead {
		return
	}
	p.Data = r.rest()
	if p.Result != int64(len(p.Data)) {
		r.off = at
		r.fail(ErrMalformed, "result", "%d, but %d bytes follow", p.Result, len(p.Data))
	}
}

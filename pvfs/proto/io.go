package proto

import "fmt"

// IOReq moves the bytes of one datafile that belong to a range of a file. They are in separate messages after the response.
type IOReq struct {
	Handle     Handle
	FS         FSID
	Type       IOType
	Flow       int32
	ServerNr   uint32 // index of the datafile
	ServerCt   uint32 // number of datafiles
	Dist       Dist
	Request    FileRequest
	FileOffset int64 // within the (tiled) file request
	Aggregate  int64 // bytes of the whole operation, over all datafiles
}

// Op is OpIO.
func (*IOReq) Op() Op { return OpIO }

func (q *IOReq) String() string {
	return fmt.Sprintf("REQ IO handle=%d fs=%d type=%v flow=%d server_nr=%d server_ct=%d dist=%v request=%v offset=%d aggregate=%d",
		q.Handle, q.FS, q.Type, q.Flow, q.ServerNr, q.ServerCt, q.Dist, q.Request, q.FileOffset, q.Aggregate)
}

// Append is AppendRequest.
func (q *IOReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *IOReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *IOReq) append(w *writer) {
	w.handle(q.Handle)
	w.fs(q.FS)
	w.skip4()
	w.i32(int32(q.Type))
	w.i32(q.Flow)
	w.u32(q.ServerNr)
	w.u32(q.ServerCt)
	w.dist(&q.Dist)
	w.fileRequest(q.Request)
	w.i64(q.FileOffset)
	w.i64(q.Aggregate)
}

func (q *IOReq) parse(r *reader) {
	q.Handle = r.handle("handle")
	q.FS = r.fs()
	r.skip4()
	q.Type = IOType(r.i32("type"))
	q.Flow = r.i32("flow")
	q.ServerNr = r.u32("server nr")
	q.ServerCt = r.u32("server ct")
	r.dist(&q.Dist)
	q.Request = r.fileRequest()
	q.FileOffset = r.i64("offset")
	q.Aggregate = r.i64("aggregate")
}

// IOResp starts the flow.
type IOResp struct{ Size int64 }

// Op is OpIO.
func (*IOResp) Op() Op { return OpIO }

func (p *IOResp) String() string {
	return fmt.Sprintf("RESP IO size=%d",
		p.Size)
}

// Append is AppendResponse.
func (p *IOResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *IOResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *IOResp) append(w *writer) {
	w.i64(p.Size)
}

func (p *IOResp) parse(r *reader) {
	p.Size = r.i64("size")
}

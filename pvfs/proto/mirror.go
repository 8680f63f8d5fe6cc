package proto

import "fmt"

// MirrorReq copies a datafile to others. Servers send it to each other.
type MirrorReq struct {
	Source   Handle
	FS       FSID
	Dist     Dist
	Block    uint32
	ServerNr uint32
	Flow     int32
	Encoding int32
	Copies   []MirrorCopy
}

// Op is OpMirror.
func (*MirrorReq) Op() Op { return OpMirror }

func (q *MirrorReq) String() string {
	return fmt.Sprintf("REQ MIRROR source=%d fs=%d dist=%v block=%d server_nr=%d flow=%d encoding=%d copies=%v",
		q.Source, q.FS, q.Dist, q.Block, q.ServerNr, q.Flow, q.Encoding, shorten(q.Copies))
}

// Append is AppendRequest.
func (q *MirrorReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *MirrorReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *MirrorReq) append(w *writer) {
	w.handle(q.Source)
	w.fs(q.FS)
	w.dist(&q.Dist)
	w.u32(q.Block)
	w.u32(q.ServerNr)
	w.count(len(q.Copies))
	w.i32(q.Flow)
	w.i32(q.Encoding)
	for _, c := range q.Copies {
		w.handle(c.Handle)
		w.u32(c.Index)
	}
}

func (q *MirrorReq) parse(r *reader) {
	q.Source = r.handle("source")
	q.FS = r.fs()
	r.dist(&q.Dist)
	q.Block = r.u32("block")
	q.ServerNr = r.u32("server nr")
	n := r.count("copies", MaxHandles, 12)
	q.Flow = r.i32("flow")
	q.Encoding = r.i32("encoding")
	q.Copies = nil
	if n*12 > r.left() {
		r.fail(ErrMalformed, "copies", "%d do not fit in the rest of the message", n)
	} else if n > 0 {
		q.Copies = make([]MirrorCopy, n)
	}
	for i := range q.Copies {
		q.Copies[i] = MirrorCopy{r.handle("copy"), r.u32("copy index")}
	}
}

// MirrorResp has the result of each copy.
type MirrorResp struct {
	Source   Handle
	ServerNr uint32
	Results  []MirrorResult
}

// Op is OpMirror.
func (*MirrorResp) Op() Op { return OpMirror }

func (p *MirrorResp) String() string {
	return fmt.Sprintf("RESP MIRROR source=%d server_nr=%d results=%v",
		p.Source, p.ServerNr, shorten(p.Results))
}

// Append is AppendResponse.
func (p *MirrorResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *MirrorResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *MirrorResp) append(w *writer) {
	w.handle(p.Source)
	w.u32(p.ServerNr)
	w.count(len(p.Results))
	for _, x := range p.Results {
		w.u32(x.Bytes)
		w.status(x.Status)
	}
}

func (p *MirrorResp) parse(r *reader) {
	p.Source = r.handle("source")
	p.ServerNr = r.u32("server nr")
	n := r.count("results", MaxHandles, 8)
	p.Results = nil
	if n > 0 {
		p.Results = make([]MirrorResult, n)
	}
	for i := range p.Results {
		p.Results[i] = MirrorResult{r.u32("bytes"), r.status("status")}
	}
}

// MirrorCopy is the destination of a copy.
type MirrorCopy struct {
	Handle Handle
	Index  uint32
}

// MirrorResult is the result of one copy.
type MirrorResult struct {
	Bytes  uint32
	Status Status
}

func (x MirrorResult) String() string { return fmt.Sprintf("{%d %s}", x.Bytes, x.Status.Name()) }

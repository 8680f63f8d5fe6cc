package proto

import "fmt"

// LookupPathReq requests the handles of a path's segments, starting at the directory Start. The path has no slash at its
// beginning.
type LookupPathReq struct {
	Path  string
	FS    FSID
	Start Handle
	Mask  AttrMask
	Cred  Credential
}

// Op is OpLookupPath.
func (*LookupPathReq) Op() Op { return OpLookupPath }

func (q *LookupPathReq) String() string {
	return fmt.Sprintf("REQ LOOKUP_PATH path=%q fs=%d start=%d mask=%v credential=%v",
		q.Path, q.FS, q.Start, q.Mask, q.Cred)
}

// Append is AppendRequest.
func (q *LookupPathReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *LookupPathReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *LookupPathReq) append(w *writer) {
	w.str(q.Path)
	w.fs(q.FS)
	w.skip4()
	w.handle(q.Start)
	w.mask(q.Mask)
	w.credential(&q.Cred)
}

func (q *LookupPathReq) parse(r *reader) {
	q.Path = r.str("path", MaxPath)
	q.FS = r.fs()
	r.skip4()
	q.Start = r.handle("start")
	q.Mask = r.mask()
	r.credential(&q.Cred)
}

// LookupPathResp has as many handles as one server could find, at least one. If the last one belongs to another server, its
// attributes are missing, and the client asks that server for the rest of the path.
type LookupPathResp struct {
	Handles []Handle
	Attrs   []Attr // of the first len(Attrs) handles
}

// Op is OpLookupPath.
func (*LookupPathResp) Op() Op { return OpLookupPath }

func (p *LookupPathResp) String() string {
	return fmt.Sprintf("RESP LOOKUP_PATH handles=%v attrs=%v",
		p.Handles, p.Attrs)
}

// Append is AppendResponse.
func (p *LookupPathResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *LookupPathResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *LookupPathResp) append(w *writer) {
	w.skip4()
	w.count(len(p.Handles))
	w.handles(p.Handles)
	w.skip4()
	w.count(len(p.Attrs))
	w.attrs(p.Attrs)
}

func (p *LookupPathResp) parse(r *reader) {
	r.skip4()
	p.Handles = r.handles("handles", r.count("handles", MaxSegments, 8))
	r.skip4()
	p.Attrs = r.attrs(r.count("attributes", MaxSegments, minAttr))
}

package proto

import "fmt"

// MkdirReq makes a directory that is in no directory yet. Numbers that are 0 are taken from the configuration.
type MkdirReq struct {
	FS             FSID
	Cred           Credential
	Attr           Attr
	Extents        []Extent
	InitialServers int32
	MaxServers     int32
	SplitSize      int32
	Layout         Layout
}

// Op is OpMkdir.
func (*MkdirReq) Op() Op { return OpMkdir }

func (q *MkdirReq) String() string {
	return fmt.Sprintf("REQ MKDIR fs=%d credential=%v attr=%v extents=%v initial_servers=%d max_servers=%d split_size=%d layout=%v",
		q.FS, q.Cred, q.Attr, shorten(q.Extents), q.InitialServers, q.MaxServers, q.SplitSize, q.Layout)
}

// Append is AppendRequest.
func (q *MkdirReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *MkdirReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *MkdirReq) append(w *writer) {
	w.fs(q.FS)
	w.skip4()
	w.credential(&q.Cred)
	w.attr(&q.Attr)
	w.extents(q.Extents)
	w.i32(q.InitialServers)
	w.i32(q.MaxServers)
	w.i32(q.SplitSize)
	w.layout(&q.Layout)
}

func (q *MkdirReq) parse(r *reader) {
	q.FS = r.fs()
	r.skip4()
	r.credential(&q.Cred)
	r.attr(&q.Attr)
	q.Extents = r.extents()
	q.InitialServers = r.i32("initial servers")
	q.MaxServers = r.i32("max servers")
	q.SplitSize = r.i32("split size")
	r.layout(&q.Layout)
}

// MkdirResp has the new directory. Stock servers send no capability.
type MkdirResp struct {
	Handle     Handle
	Capability Capability
}

// Op is OpMkdir.
func (*MkdirResp) Op() Op { return OpMkdir }

func (p *MkdirResp) String() string {
	return fmt.Sprintf("RESP MKDIR handle=%d capability=%v",
		p.Handle, p.Capability)
}

// Append is AppendResponse.
func (p *MkdirResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *MkdirResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *MkdirResp) append(w *writer) {
	w.handle(p.Handle)
	w.capability(&p.Capability)
}

func (p *MkdirResp) parse(r *reader) {
	p.Handle = r.handle("handle")
	r.capability(&p.Capability)
}

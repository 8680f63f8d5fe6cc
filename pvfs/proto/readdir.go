package proto

import "fmt"

// ReadDirReq lists at most Count names of a directory. Token is TokenStart, or the one of the last response.
type ReadDirReq struct {
	Dirdata Handle
	FS      FSID
	Count   uint32
	Token   uint64
}

// Op is OpReadDir.
func (*ReadDirReq) Op() Op { return OpReadDir }

func (q *ReadDirReq) String() string {
	return fmt.Sprintf("REQ READDIR dirdata=%d fs=%d count=%d token=%d",
		q.Dirdata, q.FS, q.Count, q.Token)
}

// Append is AppendRequest.
func (q *ReadDirReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *ReadDirReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *ReadDirReq) append(w *writer) {
	w.handle(q.Dirdata)
	w.fs(q.FS)
	w.u32(q.Count)
	w.skip4()
	w.u64(q.Token)
}

func (q *ReadDirReq) parse(r *reader) {
	q.Dirdata = r.handle("dirdata")
	q.FS = r.fs()
	q.Count = r.u32("count")
	r.skip4()
	q.Token = r.u64("token")
}

// ReadDirResp has names. TokenEnd means that there are no more; with another token there may be.
type ReadDirResp struct {
	Token   uint64
	Version uint64
	Entries []DirEntry
}

// Op is OpReadDir.
func (*ReadDirResp) Op() Op { return OpReadDir }

func (p *ReadDirResp) String() string {
	return fmt.Sprintf("RESP READDIR token=%d version=%d entries=%v",
		p.Token, p.Version, shorten(p.Entries))
}

// Append is AppendResponse.
func (p *ReadDirResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *ReadDirResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *ReadDirResp) append(w *writer) {
	w.u64(p.Token)
	w.u64(p.Version)
	w.skip4()
	w.count(len(p.Entries))
	for i := range p.Entries {
		w.str(p.Entries[i].Name)
		w.handle(p.Entries[i].Handle)
	}
}

func (p *ReadDirResp) parse(r *reader) {
	p.Token = r.u64("token")
	p.Version = r.u64("version")
	r.skip4()
	p.Entries = r.entries()
}

func (r *reader) entries() []DirEntry {
	n := r.count("entries", MaxReadDir, 16)
	if n == 0 {
		return nil
	}
	list := make([]DirEntry, n)
	for i := range list {
		list[i] = DirEntry{Name: r.str("entry name", MaxPath), Handle: r.handle("entry handle")}
	}
	return list
}

package proto

import "fmt"

// DspaceInfoReq requests the storage's information about objects.
type DspaceInfoReq struct {
	FS      FSID
	Handles []Handle
}

// Op is OpDspaceInfo.
func (*DspaceInfoReq) Op() Op { return OpDspaceInfo }

func (q *DspaceInfoReq) String() string {
	return fmt.Sprintf("REQ MGMT_DSPACE_INFO_LIST fs=%d handles=%v",
		q.FS, shorten(q.Handles))
}

// Append is AppendRequest.
func (q *DspaceInfoReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *DspaceInfoReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *DspaceInfoReq) append(w *writer) {
	w.fs(q.FS)
	w.count(len(q.Handles))
	w.handles(q.Handles)
}

func (q *DspaceInfoReq) parse(r *reader) {
	q.FS = r.fs()
	q.Handles = r.handles("handles", r.count("handles", MaxHandles, 8))
}

// DspaceInfoResp has an answer for each handle, in the order of the request.
type DspaceInfoResp struct{ Infos []DspaceInfo }

// Op is OpDspaceInfo.
func (*DspaceInfoResp) Op() Op { return OpDspaceInfo }

func (p *DspaceInfoResp) String() string {
	return fmt.Sprintf("RESP MGMT_DSPACE_INFO_LIST infos=%v",
		shorten(p.Infos))
}

// Append is AppendResponse.
func (p *DspaceInfoResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *DspaceInfoResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *DspaceInfoResp) append(w *writer) {
	w.skip4()
	w.count(len(p.Infos))
	for i := range p.Infos {
		x := &p.Infos[i]
		w.status(x.Error)
		w.skip4()
		w.handle(x.Handle)
		w.objType(x.Type)
		w.skip4()
		w.i64(x.Size)
		w.handle(x.Dirdata)
	}
}

func (p *DspaceInfoResp) parse(r *reader) {
	r.skip4()
	n := r.count("objects", MaxHandles, 40)
	p.Infos = nil
	if n > 0 {
		p.Infos = make([]DspaceInfo, n)
	}
	for i := range p.Infos {
		x := &p.Infos[i]
		x.Error = r.status("error")
		r.skip4()
		x.Handle = r.handle("handle")
		x.Type = r.objType("type")
		r.skip4()
		x.Size = r.i64("size")
		x.Dirdata = r.handle("dirdata")
	}
}

// DspaceInfo is the storage's information about an object.
type DspaceInfo struct {
	Error   Status
	Handle  Handle
	Type    ObjType
	Size    int64
	Dirdata Handle
}

func (x DspaceInfo) String() string {
	return fmt.Sprintf("{%s handle=%d %v size=%d dirdata=%d}", x.Error.Name(), x.Handle, x.Type, x.Size, x.Dirdata)
}

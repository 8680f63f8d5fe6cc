package proto

import "fmt"

// SplitDirentReq moves names into another dirdata object of their directory. Servers send it to each other. There is a name for
// each handle.
type SplitDirentReq struct {
	FS      FSID
	Dirdata Handle
	Dist    Dist
	Undo    int32
	Handles []Handle
	Names   []string
}

// Op is OpSplitDirent.
func (*SplitDirentReq) Op() Op { return OpSplitDirent }

func (q *SplitDirentReq) String() string {
	return fmt.Sprintf("REQ MGMT_SPLIT_DIRENT fs=%d dirdata=%d dist=%v undo=%d handles=%v names=%v",
		q.FS, q.Dirdata, q.Dist, q.Undo, shorten(q.Handles), shorten(q.Names))
}

// Append is AppendRequest.
func (q *SplitDirentReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *SplitDirentReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *SplitDirentReq) append(w *writer) {
	w.fs(q.FS)
	w.handle(q.Dirdata)
	w.dist(&q.Dist)
	w.skip4()
	w.i32(q.Undo)
	n := len(q.Handles)
	w.count(n)
	w.handles(q.Handles)
	w.strsOf(q.Names, n)
}

func (q *SplitDirentReq) parse(r *reader) {
	q.FS = r.fs()
	q.Dirdata = r.handle("dirdata")
	r.dist(&q.Dist)
	r.skip4()
	q.Undo = r.i32("undo")
	n := r.count("entries", MaxHandles, 16)
	q.Handles = r.handles("handles", n)
	q.Names = r.strs("names", n, MaxPath)
}

// SplitDirentResp is empty.
type SplitDirentResp struct{}

// Op is OpSplitDirent.
func (*SplitDirentResp) Op() Op { return OpSplitDirent }

func (*SplitDirentResp) String() string { return "RESP MGMT_SPLIT_DIRENT" }

// Append is AppendResponse.
func (p *SplitDirentResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *SplitDirentResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*SplitDirentResp) append(*writer) {}

func (*SplitDirentResp) parse(*reader) {}

package proto

import "fmt"

// StatFSReq requests the free space of one server.
type StatFSReq struct{ FS FSID }

// Op is OpStatFS.
func (*StatFSReq) Op() Op { return OpStatFS }

func (q *StatFSReq) String() string {
	return fmt.Sprintf("REQ STATFS fs=%d",
		q.FS)
}

// Append is AppendRequest.
func (q *StatFSReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *StatFSReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *StatFSReq) append(w *writer) {
	w.fs(q.FS)
}

func (q *StatFSReq) parse(r *reader) {
	q.FS = r.fs()
}

// StatFSResp has the total and the free space, in bytes and handles; memory in bytes, loads times 65536, and the uptime of the
// machine in seconds.
type StatFSResp struct {
	FS                                      FSID
	BytesAvailable, BytesTotal              int64
	RAMTotal, RAMFree, Load1, Load5, Load15 uint64
	Uptime, HandlesAvailable, HandlesTotal  uint64
}

// Op is OpStatFS.
func (*StatFSResp) Op() Op { return OpStatFS }

func (p *StatFSResp) String() string {
	return fmt.Sprintf("RESP STATFS fs=%d bytes_available=%d bytes_total=%d ram_total=%d ram_free=%d load1=%d load5=%d load15=%d uptime=%d handles_available=%d handles_total=%d",
		p.FS, p.BytesAvailable, p.BytesTotal, p.RAMTotal, p.RAMFree, p.Load1, p.Load5, p.Load15, p.Uptime, p.HandlesAvailable, p.HandlesTotal)
}

// Append is AppendResponse.
func (p *StatFSResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *StatFSResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *StatFSResp) append(w *writer) {
	w.skip4()
	w.fs(p.FS)
	w.i64(p.BytesAvailable)
	w.i64(p.BytesTotal)
	w.u64(p.RAMTotal)
	w.u64(p.RAMFree)
	w.u64(p.Load1)
	w.u64(p.Load5)
	w.u64(p.Load15)
	w.u64(p.Uptime)
	w.u64(p.HandlesAvailable)
	w.u64(p.HandlesTotal)
}

func (p *StatFSResp) parse(r *reader) {
	r.skip4()
	p.FS = r.fs()
	p.BytesAvailable = r.i64("bytes available")
	p.BytesTotal = r.i64("bytes total")
	p.RAMTotal = r.u64("ram total")
	p.RAMFree = r.u64("ram free")
	p.Load1 = r.u64("load1")
	p.Load5 = r.u64("load5")
	p.Load15 = r.u64("load15")
	p.Uptime = r.u64("uptime")
	p.HandlesAvailable = r.u64("handles available")
	p.HandlesTotal = r.u64("handles total")
}

package proto

import "fmt"

// PerfMonReq requests the last SampleCount samples of KeyCount counters (type 0) or timers (1).
type PerfMonReq struct{ Type, NextID, KeyCount, SampleCount uint32 }

// Op is OpPerfMon.
func (*PerfMonReq) Op() Op { return OpPerfMon }

func (q *PerfMonReq) String() string {
	return fmt.Sprintf("REQ MGMT_PERF_MON type=%d next_id=%d keys=%d samples=%d",
		q.Type, q.NextID, q.KeyCount, q.SampleCount)
}

// Append is AppendRequest.
func (q *PerfMonReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *PerfMonReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *PerfMonReq) append(w *writer) {
	w.u32(q.Type)
	w.u32(q.NextID)
	w.u32(q.KeyCount)
	w.u32(q.SampleCount)
}

func (q *PerfMonReq) parse(r *reader) {
	q.Type = r.u32("type")
	q.NextID = r.u32("next id")
	q.KeyCount = r.u32("keys")
	q.SampleCount = r.u32("samples")
}

// PerfMonResp has samples of KeyCount values each.
type PerfMonResp struct {
	KeyCount, NextID uint32
	End, Now         uint64 // ms
	SampleCount      uint32
	Values           []int64
}

// Op is OpPerfMon.
func (*PerfMonResp) Op() Op { return OpPerfMon }

func (p *PerfMonResp) String() string {
	return fmt.Sprintf("RESP MGMT_PERF_MON keys=%d next_id=%d end=%d now=%d samples=%d values=%v",
		p.KeyCount, p.NextID, p.End, p.Now, p.SampleCount, shorten(p.Values))
}

// Append is AppendResponse.
func (p *PerfMonResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *PerfMonResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *PerfMonResp) append(w *writer) {
	w.u32(p.KeyCount)
	w.u32(p.NextID)
	w.u64(p.End)
	w.u64(p.Now)
	w.u32(p.SampleCount)
	w.count(len(p.Values))
	w.i64s(p.Values)
}

func (p *PerfMonResp) parse(r *reader) {
	p.KeyCount = r.u32("keys")
	p.NextID = r.u32("next id")
	p.End = r.u64("end")
	p.Now = r.u64("now")
	p.SampleCount = r.u32("samples")
	p.Values = r.i64s("values", r.count("values", maxPerf, 8))
}

// maxPerf limits the values of a response.
const maxPerf = 1024

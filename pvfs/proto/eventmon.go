package proto

import "fmt"

// EventMonReq asks for the last events that a server has logged.
type EventMonReq struct{ Count uint32 }

// Op is OpEventMon.
func (*EventMonReq) Op() Op { return OpEventMon }

func (q *EventMonReq) String() string {
	return fmt.Sprintf("REQ MGMT_EVENT_MON count=%d",
		q.Count)
}

// Append is AppendRequest.
func (q *EventMonReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *EventMonReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *EventMonReq) append(w *writer) {
	w.u32(q.Count)
}

func (q *EventMonReq) parse(r *reader) {
	q.Count = r.u32("count")
}

// EventMonResp has events.
type EventMonResp struct{ Events []MgmtEvent }

// Op is OpEventMon.
func (*EventMonResp) Op() Op { return OpEventMon }

func (p *EventMonResp) String() string {
	return fmt.Sprintf("RESP MGMT_EVENT_MON events=%v",
		shorten(p.Events))
}

// Append is AppendResponse.
func (p *EventMonResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *EventMonResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *EventMonResp) append(w *writer) {
	w.skip4()
	w.count(len(p.Events))
	for i := range p.Events {
		x := &p.Events[i]
		w.i32(x.API)
		w.i32(x.Op)
		w.i64(x.Value)
		w.i64(x.ID)
		w.i32(x.Flags)
		w.i32(x.S)
		w.i32(x.US)
		w.skip4()
	}
}

func (p *EventMonResp) parse(r *reader) {
	r.skip4()
	n := r.count("events", maxEvents, 40)
	p.Events = nil
	if n > 0 {
		p.Events = make([]MgmtEvent, n)
	}
	for i := range p.Events {
		x := &p.Events[i]
		x.API = r.i32("event api")
		x.Op = r.i32("event operation")
		x.Value = r.i64("event value")
		x.ID = r.i64("event id")
		x.Flags = r.i32("event flags")
		x.S = r.i32("event seconds")
		x.US = r.i32("event microseconds")
		r.skip4()
	}
}

// maxEvents limits the events of a response.
const maxEvents = 2048

// MgmtEvent is an event in a server's log, with its time since 1970.
type MgmtEvent struct {
	API, Op   int32
	Value, ID int64
	Flags     int32
	S, US     int32
}

package proto

import "fmt"

// GetUIDReq asks which users sent requests to a server in the last History seconds.
type GetUIDReq struct{ History uint32 }

// Op is OpGetUID.
func (*GetUIDReq) Op() Op { return OpGetUID }

func (q *GetUIDReq) String() string {
	return fmt.Sprintf("REQ MGMT_GET_UID history=%d",
		q.History)
}

// Append is AppendRequest.
func (q *GetUIDReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *GetUIDReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *GetUIDReq) append(w *writer) {
	w.u32(q.History)
}

func (q *GetUIDReq) parse(r *reader) {
	q.History = r.u32("history")
}

// GetUIDResp has these users.
type GetUIDResp struct{ Users []UIDHistory }

// Op is OpGetUID.
func (*GetUIDResp) Op() Op { return OpGetUID }

func (p *GetUIDResp) String() string {
	return fmt.Sprintf("RESP MGMT_GET_UID users=%+v",
		shorten(p.Users))
}

// Append is AppendResponse.
func (p *GetUIDResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *GetUIDResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *GetUIDResp) append(w *writer) {
	w.skip4()
	w.count(len(p.Users))
	for i := range p.Users {
		x := &p.Users[i]
		w.u32(x.UID)
		w.u64(x.Count)
		w.u64(x.FirstS)
		w.u32(x.FirstUS)
		w.u64(x.LastS)
		w.u32(x.LastUS)
	}
}

func (p *GetUIDResp) parse(r *reader) {
	r.skip4()
	n := r.count("users", maxUsers, 36)
	p.Users = nil
	if n > 0 {
		p.Users = make([]UIDHistory, n)
	}
	for i := range p.Users {
		x := &p.Users[i]
		x.UID = r.u32("user id")
		x.Count = r.u64("user requests")
		x.FirstS = r.u64("user first seconds")
		x.FirstUS = r.u32("user first microseconds")
		x.LastS = r.u64("user last seconds")
		x.LastUS = r.u32("user last microseconds")
	}
}

// maxUsers limits the users of a response.
const maxUsers = 25

// UIDHistory is one user with the number of its requests and the times of the first and the last one since 1970.
type UIDHistory struct {
	UID     uint32
	Count   uint64
	FirstS  uint64
	FirstUS uint32
	LastS   uint64
	LastUS  uint32
}

package proto

import "fmt"

// SetParamReq sets a parameter of a server, or checks one.
type SetParamReq struct {
	FS    FSID
	Param Param
	Type  int32 // 0: Value, 1: Text
	Value uint64
	Text  string
}

// Op is OpSetParam.
func (*SetParamReq) Op() Op { return OpSetParam }

func (q *SetParamReq) String() string {
	return fmt.Sprintf("REQ MGMT_SETPARAM fs=%d param=%v type=%d value=%d text=%q",
		q.FS, q.Param, q.Type, q.Value, q.Text)
}

// Append is AppendRequest.
func (q *SetParamReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *SetParamReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *SetParamReq) append(w *writer) {
	w.fs(q.FS)
	w.i32(int32(q.Param))
	w.i32(q.Type)
	if q.Type == paramText {
		w.str(q.Text)
	} else {
		w.u64(q.Value)
	}
}

func (q *SetParamReq) parse(r *reader) {
	q.FS = r.fs()
	q.Param = Param(r.i32("param"))
	at := r.off
	q.Value, q.Text = 0, ""
	switch q.Type = r.i32("value type"); q.Type {
	case paramValue:
		q.Value = r.u64("value")
	case paramText:
		q.Text = r.str("text", MaxPath)
	default:
		r.off = at
		r.fail(ErrMalformed, "value type", "%d", q.Type)
	}
}

// SetParamResp is empty.
type SetParamResp struct{}

// Op is OpSetParam.
func (*SetParamResp) Op() Op { return OpSetParam }

func (*SetParamResp) String() string { return "RESP MGMT_SETPARAM" }

// Append is AppendResponse.
func (p *SetParamResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *SetParamResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*SetParamResp) append(*writer) {}

func (*SetParamResp) parse(*reader) {}

// The types of values.
const (
	paramValue = 0
	paramText  = 1
)

// Param is a parameter of MGMT_SETPARAM.
type Param int32

// The parameters.
const (
	ParamDebug       Param = 1
	ParamFSID        Param = 2
	ParamRootHandle  Param = 3
	ParamMode        Param = 4 // 1 normal, 2 admin
	ParamPerfHistory Param = 5
	ParamPerfSample  Param = 6
	ParamEventOn     Param = 7
	ParamEventOff    Param = 8
	ParamSyncMeta    Param = 9
	ParamSyncData    Param = 10
	ParamDropCaches  Param = 11
	ParamNoTimeouts  Param = 12
)

var paramNames = map[Param]string{
	ParamDebug: "debug", ParamFSID: "fs-id", ParamRootHandle: "root-handle", ParamMode: "mode",
	ParamPerfHistory: "perf-history", ParamPerfSample: "perf-sample", ParamEventOn: "event-on",
	ParamEventOff: "event-off", ParamSyncMeta: "sync-meta", ParamSyncData: "sync-data",
	ParamDropCaches: "drop-caches", ParamNoTimeouts: "no-timeouts",
}

func (p Param) String() string {
	if name, ok := paramNames[p]; ok {
		return name
	}
	return fmt.Sprintf("param(%d)", int32(p))
}
